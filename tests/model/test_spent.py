from holdfast.model.spent import NOTHING, Spent


def test_a_cost_that_nobody_told_is_unknown_and_not_zero() -> None:
    assert NOTHING.plus(None, 5, 1) == Spent(None, 5, 1)
    assert Spent(0.5, 5, 1).plus(None, 5, 1) == Spent(0.5, 10, 2)
    assert NOTHING.plus(0.0, 0, 0).cost_usd == 0.0


def test_what_came_on_top_of_a_conversation_that_was_resumed() -> None:
    before = Spent(0.5, 100, 10)
    assert before.cost_since(0.75) == 0.25
    assert before.cost_since(None) is None
    assert before.tokens_since(150, 12) == (50, 2)


def test_a_total_that_began_again_is_taken_as_it_is() -> None:
    before = Spent(0.5, 100, 10)
    assert before.cost_since(0.25) == 0.25
    assert before.tokens_since(50, 12) == (50, 12)
