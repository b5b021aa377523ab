"""The earlier commit that questions compare with."""

from bench.against_commit import tree_of


def test_questions_of_one_run_share_the_tree_of_a_commit(tmp_path):
    tree = tree_of("HEAD", tmp_path / "base")
    assert (tree / "app/main.py").exists()
    assert tree_of("HEAD", tmp_path / "base") == tree
