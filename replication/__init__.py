"""The paper's experiments and the ones that decide between its explanations.

Reading order: ``protocol`` (what one trial is), ``runner`` (how many trials are run), ``results``
(what is kept, and when it may be used again), ``statistics`` and ``tables`` (what is made of them),
``printed`` (the paper's own numbers), ``studies``.
"""
