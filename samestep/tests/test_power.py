"""What writes POWER.md counts alarms, and sees small bugs and no smaller."""

import power
import pytest


def columns(*given):
    _, precision, optimizer, many, alarms, nearest, scale, one_of, _ = (
        part.strip() for part in power.row(*given).split('|')
    )
    return int(many), int(alarms), float(nearest), scale, one_of


@pytest.mark.parametrize('both', [True, False])
def test_a_row_of_float32(both, monkeypatch):
    monkeypatch.setattr(power, 'SIZES', (30, 61))
    many, alarms, nearest, scale, one_of = columns('float32', 'sgd', both, 3)
    assert (many, alarms, one_of) == (3, 0, '61')
    assert 0 < nearest < 1
    assert scale in ('10⁻⁴', '10⁻⁵', '10⁻⁶')


def test_alarms_are_counted(monkeypatch):
    answer = power.answer
    monkeypatch.setattr(power, 'SIZES', ())
    monkeypatch.setattr(
        power,
        'answer',
        lambda *given, **bug: answer(
            *given, **{'change': power.steps.times(2), **bug}
        ),
    )
    many, alarms, nearest, _, _ = columns('float32', 'sgd', True, 3)
    assert many == alarms == 3 and nearest > 1


def test_what_is_never_seen_is_none(monkeypatch):
    monkeypatch.setattr(power, 'seen', lambda *given, **bug: False)
    assert columns('float32', 'sgd', True, 1)[3:] == ('none', 'none')
