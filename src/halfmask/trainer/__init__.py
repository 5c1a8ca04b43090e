"""The remote trainer: a learner, a service that keeps what it learned, and a client.

Start with `halfmask.trainer.client.TrainerClient` at home, `halfmask serve` elsewhere, and
`halfmask.trainer.learner.OnlineLearner` where both are one process.
"""
