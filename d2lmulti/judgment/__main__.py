"""The game of the chapter of bugs: python -m d2lmulti.judgment play NAME."""

from .bugs import ROOMS, in_numpy
from .game import run_game

if __name__ == '__main__':
    run_game(ROOMS, in_numpy)
