"""The game of chapter 26: what it measures is true, and it can be won."""

import io
import re
import subprocess
import sys

import pytest

from d2lmulti.judgment import bugs, game

# What a player may see: (bug, devices, measurement, answer).
SEEN = [
    ('own_count', 3, 'arrays', 'wrong: 0, 1'),
    ('own_count', 3, 'equal', 'wrong: none'),
    ('token_means', 2, 'alone', 'wrong: 0, 1, 2, 3'),
    ('rebound', 2, 'alone', 'wrong: none'),
    ('rebound', 4, 'result', '4 replicas of (20, 30) (30,) (30, 5) (5,)'),
    ('row_bias', 2, 'result', '(20, 30) (30,) (30, 5) (5,)'),
    ('row_bias', 2, 'arrays', 'wrong: 0, 1, 2, 3'),
    ('row_bias', 3, 'zeros', 'wrong: none'),
    ('router_slots', 3, 'zeros', 'wrong: 0'),
    ('first_synced', 2, 'blank', 'wrong: 1, 2, 3'),
    ('own_start', 2, 'blank', 'wrong: 0, 1, 2, 3'),
    ('lost_momentum', 2, 'arrays', 'wrong: none'),
    ('lost_momentum', 2, 'steps', 'step 2'),
    ('many_ticks', 2, 'steps', 'step 0'),
]


def game_of(name, k=2, rooms=bugs.ROOMS):
    """Return a game with this bug."""
    made = game.Game(rooms, bugs.in_numpy)
    made._bug, made.num_devices = name, k
    return made


@pytest.mark.parametrize('name, k, what, answer', SEEN)
def test_a_measurement_shows_the_bug(name, k, what, answer):
    assert game_of(name, k).measure(what) == answer


def test_the_right_step_is_nowhere_wrong():
    def fixed(make):
        return lambda _, k: make(True, k)

    rooms = {
        name: (fixed(make), *rest)
        for name, (make, *rest) in bugs.ROOMS.items()
    }
    for name in rooms:
        for what in ('alone', 'equal', 'blank', 'zeros', 'steps'):
            answer = game_of(name, 2, rooms).measure(what)
            assert answer in ('wrong: none', 'none of four'), (name, what)


@pytest.mark.long
@pytest.mark.parametrize('k', [2, 3, 4])
def test_each_bug_can_be_told_from_all_others(k):
    made, seen = game_of('rebound', k), {}
    for name in bugs.ROOMS:
        answers = (*(made._look(name, what) for what in game.MEASUREMENTS),)
        assert answers not in seen, (name, seen[answers])
        seen[answers] = name
    for name in bugs.ROOMS:
        made._bug = name
        assert 1 <= made.par() <= 8
    made._bug = 'expert_scale'  # same shapes as router_slots alone
    assert made.par() == 2


def test_points_are_counted_once_for_each_measurement_and_guess():
    made = game_of('rebound')
    assert made.points == 0
    assert made.measure('result') == made.measure('result')
    assert made.points == 1
    assert made.guess('own_start') == 'Not own_start: 5 points.'
    made.guess('own_start')
    assert made.points == 6
    made.par = lambda: 3  # takes seconds
    assert made.guess('rebound') == 'Found: rebound. Points: 6, par: 3.'
    assert made.points == 6


def test_what_is_unknown_costs_nothing_and_says_what_there_is():
    made = game_of('rebound')
    with pytest.raises(ValueError, match="'wind' is no measurement: result,"):
        made.measure('wind')
    with pytest.raises(ValueError, match="'wind' is no bug: token_means,"):
        made.guess('wind')
    assert made.points == 0


def test_a_name_plants_one_bug_and_names_plant_all():
    made = [bugs.new_game(f'student {i}') for i in range(200)]
    assert {one._bug for one in made} == set(bugs.ROOMS)
    assert {one.num_devices for one in made} == {2, 3, 4}
    again = bugs.new_game('student 7')
    assert (again._bug, again.num_devices) == (
        made[7]._bug,
        made[7].num_devices,
    )


def test_nothing_that_a_player_prints_names_the_bug():
    made = [game_of(name) for name in bugs.ROOMS]
    assert len({repr(one) for one in made}) == 1
    assert all(what in repr(made[0]) for what in game.MEASUREMENTS)


def test_a_player_wins(capsys):
    made, words = game_of('rebound'), iter(['result', 'wind', 'rebound'])
    made.par = lambda: 3
    made.play(lambda prompt: next(words))
    printed = capsys.readouterr().out
    assert "'wind' is no measurement" in printed
    assert 'Points: 1, par: 3' in printed


@pytest.mark.parametrize('error', [EOFError, KeyboardInterrupt])
def test_a_player_who_leaves_ends_the_game(error, capsys):
    def leave(prompt):
        raise error

    game_of('rebound').play(leave)
    assert 'Found' not in capsys.readouterr().out


def test_a_wrong_command_prints_the_right_ones(run, capsys):
    with pytest.raises(SystemExit):
        run('win')
    assert '{play,answers}' in capsys.readouterr().err


def test_no_command_prints_help_and_an_example_that_works(
    run, monkeypatch, capsys
):
    run()
    printed = capsys.readouterr()
    assert not printed.err and 'name it' in printed.out
    command = r'python -m d2lmulti\.judgment (play \w+)'
    (example,) = re.findall(command, printed.out)
    monkeypatch.setattr(sys, 'stdin', io.StringIO('quit\n'))
    run(*example.split())
    assert 'A step on' in capsys.readouterr().out


def test_an_instructor_gets_the_answer_of_each_name(run, monkeypatch, capsys):
    monkeypatch.setattr(game.Game, 'par', lambda self: 3)
    run('answers', 'ada', 'ben')
    planted = [bugs.new_game(name)._bug for name in ('ada', 'ben')]
    assert capsys.readouterr().out.splitlines() == [
        f'ada: {planted[0]}, par 3',
        f'ben: {planted[1]}, par 3',
    ]


@pytest.fixture
def run(monkeypatch):
    """Return a function that runs the command with arguments."""

    def run_with(*arguments):
        monkeypatch.setattr(sys, 'argv', ['bugs', *arguments])
        game.run_game(bugs.ROOMS, bugs.in_numpy)

    return run_with


def test_the_module_is_a_command():
    process = subprocess.run(
        [sys.executable, '-m', 'd2lmulti.judgment', 'play', 'jo'],
        input='result\nquit\n',
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert process.returncode == 0, process.stderr
    assert '(20, 30) (30,)' in process.stdout
    assert not process.stderr
