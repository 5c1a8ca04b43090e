"""Tables of counts and sums, verified: files, equations, intervals, and the cells of the owner.

The verifier reads the tables, builds the equations between their cells from the dimensions of the
manifest, and bounds every hidden cell by linear programs of its own. Where the owner hands it the
microdata it tabulates again and applies the rules again. It shares no code with the room
``crosstabs``.
"""
