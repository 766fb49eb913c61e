"""Attacks on an executor as data, and a runner whose verdicts come from what the host observed.

``python -m adversarial`` runs the corpus against the engine in this repository, ``company.run_all`` against anything
that has an ``Adapter``.
"""
