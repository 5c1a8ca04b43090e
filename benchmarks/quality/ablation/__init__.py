"""The ablation of training on anonymized people: tables, models, arms and measures."""
