"""Support vector data description with an lp slack norm.

The names of ``__init__.pyi`` are loaded when first used: scikit-learn imports pandas where it is
installed, and a program that only wants ``lpsvdd.__version__`` or the command line's help should
not wait for both.
"""

import lazy_loader

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
