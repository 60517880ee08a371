"""`rewind commit`: git commits from turns, in real repositories."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import pytest

from chat_scene import Scene
from cli.conftest import InProcess
from rewind_cli import differences, git, git_state, git_status, tree_state

pytestmark = pytest.mark.slow  # many processes of git


class Desk:
    """A repository, an agent with hooks, and a picture of what must not be touched."""

    def __init__(self, cli: InProcess, *, commits: bool = True) -> None:
        self.cli = cli
        self.project = cli.project
        self.git("init", "-q", "-b", "main")
        if commits:
            self.write("kept.txt", "kept\n")
            self.write("old.txt", "old\n")
            self.git("add", ".")
            self.git("commit", "-qm", "The first")
        self.scene = Scene(cli)
        self.turns = 0

    def git(self, *words: Any) -> str:
        return git(self.project, *words, home=self.cli.home)

    def write(self, name: str, text: str) -> None:
        path = self.project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def begin(self, text: str) -> None:
        self.turns += 1
        self.scene.save("UserPromptSubmit", promptId=f"p{self.turns}", promptText=text)
        self.scene.say(text)

    def end(self) -> None:
        self.scene.save("Stop", promptId=f"p{self.turns}")

    def turn(self, text: str, **files: str) -> None:
        """Files by name; the underscore stands for the dot."""
        self.begin(text)
        for name, content in files.items():
            self.write(name.replace("_", "."), content)
        self.end()

    def untouched(self) -> tuple[Any, ...]:
        mine = {path: found for path, found in git_state(self.project).items()
                if not path.startswith((".git/objects/", ".git/refs/heads/", ".git/logs/refs/heads/"))}
        return (mine, git_status(self.project, self.cli.home), self.git("rev-parse", "HEAD"),
                self.git("stash", "list"), tree_state(self.project))

    def differs_from(self, branch: str) -> str:
        """The names of files that are not as on that branch."""
        self.git("add", "--all")
        return self.git("diff", "--cached", "--name-only", branch)

    def show(self, what: str, path: str) -> str:
        return self.git("cat-file", "blob", f"{what}:{path}")


@pytest.fixture
def desk(cli: InProcess) -> Desk:
    return Desk(cli)


@pytest.fixture
def three(desk: Desk) -> Desk:
    """Three turns, an edit of the person before the second."""
    desk.turn("Write a login form.\nWith two fields.", login_py="one\n")
    desk.write("mine.txt", "mine\n")
    desk.turn("Make it longer", login_py="one\ntwo\n", old_txt="new\n")
    desk.turn("Tidy up", kept_txt="tidy\n")
    return desk


def test_per_turn_the_log_shows_the_turns(three: Desk) -> None:
    three.write("staged.txt", "staged\n")
    three.git("add", "staged.txt")
    three.write("kept.txt", "edited since\n")
    before = three.untouched()
    found = three.cli.json("commit", "--per-turn")
    assert three.untouched() == before
    assert [c["turn"] for c in found["commits"]] == [1, 2, 3]
    log = three.git("log", "-p", "--reverse", "--format=%s|%b|", found["branch"], "^main")
    places = [log.index(text) for text in ("Write a login form|", "+one", "Make it longer|", "+two")]
    assert places == sorted(places)
    assert f"Rewind-Turn: {three.scene.session}#2" in log and "mine" not in log and "staged" not in log
    assert three.git("rev-parse", f"{found['branch']}~3") == three.git("rev-parse", "main")
    assert three.git("rev-parse", found["branch"]).strip() == found["commits"][-1]["sha"]
    three.git("fsck", "--strict")


def test_people_read_the_branch_and_that_hooks_were_not_run(three: Desk) -> None:
    result = three.cli.ok("commit", "--per-turn")
    assert "Write a login form" in result.out
    assert "on rewind/write-a-login-form" in result.err
    assert "The repository's hooks were not run" in result.err


def test_all_turns_in_one_commit(three: Desk) -> None:
    found = three.cli.json("commit", "--branch", "login")
    assert found["branch"] == "login" and len(found["commits"]) == 1
    text = three.git("log", "-1", "--format=%B", "login")
    assert text.startswith("Write a login form (and 2 more turns)\n") and "- Tidy up\n" in text
    assert text.count("Rewind-Turn: ") == 3
    assert three.git("diff", "--name-only", "main", "login").split() == ["kept.txt", "login.py", "old.txt"]


def test_only_the_turns_that_are_named(three: Desk) -> None:
    found = three.cli.json("commit", "t2..t3", "--per-turn")
    assert [c["turn"] for c in found["commits"]] == [2, 3]
    changed = three.git("diff", "--name-only", "main", found["branch"]).split()
    assert changed == ["kept.txt", "login.py", "old.txt"]


def test_a_turn_that_was_reverted_is_reverted_in_the_commits(desk: Desk) -> None:
    desk.turn("Write a login form", login_py="one\n")
    desk.turn("Make it longer", login_py="one\ntwo\n", old_txt="new\n")
    desk.turn("Tidy up", kept_txt="tidy\n")
    desk.cli.ok("revert", "t2")
    found = desk.cli.json("commit", "--per-turn", "--branch", "each")
    assert [c["turn"] for c in found["commits"]] == [1, 2, 3, None]
    assert found["commits"][-1]["subject"] == 'Reverted turn 2, "Make it longer"'
    assert desk.differs_from("each") == ""
    desk.cli.ok("commit", "--branch", "one")
    assert "(and 3 more changes)" in desk.git("log", "-1", "--format=%s", "one")
    assert desk.differs_from("one") == ""
    desk.cli.ok("undo-restore")
    assert len(desk.cli.json("commit", "--per-turn", "--branch", "undone")["commits"]) == 3
    assert desk.differs_from("undone") == ""
    desk.cli.ok("redo")
    desk.turn("Go on", more_py="1\n")
    found = desk.cli.json("commit", "--per-turn", "--branch", "later")
    assert [c["turn"] for c in found["commits"]] == [1, 2, 3, None, 4]
    assert desk.differs_from("later") == ""


def test_the_backup_before_a_revert_is_not_committed(desk: Desk) -> None:
    desk.turn("Write a login form", login_py="one\n")
    desk.begin("Make it longer")
    desk.write("login.py", "one\ntwo\n")
    desk.cli.ok("revert", "t2")  # it was interrupted, so the backup alone has its code
    found = desk.cli.json("commit", "--per-turn", "--branch", "interrupted")
    assert [c["subject"] for c in found["commits"]] == ["Write a login form"]
    assert desk.differs_from("interrupted") == ""
    desk.turn("Tidy up", kept_txt="tidy\n")
    desk.write("mine.txt", "mine\n")
    desk.cli.ok("revert", "t3")
    found = desk.cli.json("commit", "--per-turn", "--branch", "mine")
    assert [c["turn"] for c in found["commits"]] == [1, 3, None]
    assert desk.differs_from("mine").split() == ["mine.txt"]


def test_turns_that_the_current_code_no_longer_has_are_named(three: Desk) -> None:
    note = "No longer in the current code, but included: t2, t3."
    assert note not in three.cli.ok("commit", "--dry-run").err
    three.cli.ok("restore", "t2", "--code-only")
    assert note in three.cli.ok("commit", "--dry-run").err
    assert note not in three.cli.ok("commit", "t1..t2", "--dry-run").err
    three.cli.ok("undo-restore")
    assert note not in three.cli.ok("commit", "--dry-run").err


def test_what_changed_between_two_checkpoints(three: Desk) -> None:
    names = three.cli.names()
    found = three.cli.json("commit", f"{names[-1]}..{names[0]}")
    assert "mine.txt" in three.git("diff", "--name-only", "main", found["branch"])
    assert "Rewind-Checkpoint: " in three.git("log", "-1", "--format=%B", found["branch"])


def test_the_trailer_is_one_for_git(three: Desk) -> None:
    three.cli.ok("commit", "t1", "--branch", "x")
    trailer = three.git("log", "-1", "--format=%(trailers:key=Rewind-Turn,valueonly)", "x").strip()
    assert trailer == f"{three.scene.session}#1"


def test_the_first_parent_is_the_commit_that_was_checked_out_then(three: Desk) -> None:
    was = three.git("rev-parse", "HEAD").strip()
    three.git("add", ".")
    three.git("commit", "-qm", "Meanwhile")
    found = three.cli.json("commit", "t1")
    assert found["parent"] == was and any("HEAD has moved" in note for note in found["notes"])
    assert three.git("rev-parse", f"{found['branch']}~1").strip() == was


def test_modes_links_deletions_and_directories(desk: Desk) -> None:
    desk.begin("All kinds")
    (desk.project / "kept.txt").unlink()
    desk.write("kept.txt/now/a/directory", "x\n")
    desk.write("run.sh", "#!/bin/sh\n")
    (desk.project / "run.sh").chmod(0o755)
    (desk.project / "link").symlink_to("run.sh")
    (desk.project / "old.txt").rename(desk.project / "renamed.txt")
    desk.write("caf\u00e9 \n odd.txt", "odd\n")
    with open(os.path.join(os.fsencode(desk.project), b"\xff.txt"), "wb") as file:
        file.write(b"\xfe\n")
    desk.end()
    found = desk.cli.json("commit", "--branch", "x")
    desk.git("add", "-A")
    assert desk.git("write-tree") == desk.git("rev-parse", "x^{tree}")
    assert {"path": "run.sh"} in found["commits"][0]["paths"]


def test_clean_filters_and_line_ends_are_gits(desk: Desk) -> None:
    desk.git("config", "filter.shout.clean", "tr a-z A-Z")
    desk.begin("With filters")
    desk.write(".gitattributes", "*.shout filter=shout\n*.crlf text eol=crlf\n")
    desk.write("a.shout", "quiet\n")
    desk.write("sub/b.crlf", "one\r\ntwo\r\n")
    desk.end()
    os.unlink(desk.project / ".gitattributes")  # what counts is how it was then
    desk.cli.ok("commit", "--branch", "x")
    assert desk.show("x", "a.shout") == "QUIET\n"
    assert desk.show("x", "sub/b.crlf") == "one\ntwo\n"


def test_ignored_files_are_never_committed(desk: Desk) -> None:
    desk.begin("Secrets")
    desk.write(".gitignore", ".env\nbuild/\n")
    desk.write(".env", "KEY=1\n")
    desk.write("build/out", "1\n")
    desk.write("app.py", "1\n")
    desk.write("sub/.gitignore", "*.log\n")
    desk.write("sub/x.log", "1\n")
    desk.end()
    os.unlink(desk.project / ".gitignore")
    found = desk.cli.json("commit", "--branch", "x")
    assert desk.git("ls-tree", "-r", "--name-only", "x").split() == [
        ".gitignore", "app.py", "kept.txt", "old.txt", "sub/.gitignore"]
    assert {one["path"] for one in found["leftOut"]} == {".env", "build/out", "sub/x.log"}


def test_what_is_ignored_now_is_left_out_as_well(desk: Desk) -> None:
    desk.turn("Secrets", key_pem="1\n", app_py="1\n")
    desk.write(".gitignore", "*.pem\n")
    desk.cli.ok("commit", "--branch", "x")
    assert "key.pem" not in desk.git("ls-tree", "-r", "--name-only", "x")


def test_a_tracked_file_that_matches_an_ignore_rule_is_committed(desk: Desk) -> None:
    desk.write(".gitignore", "old.txt\n")
    desk.turn("Change it", old_txt="changed\n")
    desk.cli.ok("commit", "--branch", "x")
    assert desk.show("x", "old.txt") == "changed\n"


def test_submodules_and_other_repositories_stay_as_they_are(cli: InProcess) -> None:
    inner = cli.project / "module"
    inner.mkdir()
    git(inner, "init", "-q", home=cli.home)
    (inner / "f.txt").write_text("1\n")
    git(inner, "add", ".", home=cli.home)
    git(inner, "commit", "-qm", "inner", home=cli.home)
    desk = Desk(cli)  # `git add` of a repository records a gitlink
    assert "160000" in desk.git("ls-tree", "HEAD")
    (cli.project / "other").mkdir()
    git(cli.project / "other", "init", "-q", home=cli.home)
    desk.begin("Change both")
    desk.write("module/f.txt", "2\n")
    desk.write("other/g.txt", "1\n")
    desk.write("app.py", "1\n")
    desk.end()
    found = cli.json("commit", "--branch", "x")
    assert desk.git("diff", "--name-only", "main", "x").split() == ["app.py"]
    assert {one["path"] for one in found["leftOut"]} == {"module/f.txt", "other/g.txt"}


def test_no_hook_of_the_repository_is_run(three: Desk) -> None:
    hooks = three.project / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("pre-commit", "commit-msg", "post-commit", "reference-transaction", "post-index-change"):
        (hooks / name).write_text("#!/bin/sh\ntouch ../ran 2>/dev/null; touch ran\nexit 1\n")
        (hooks / name).chmod(0o755)
    three.git("config", "core.fsmonitor", f"touch {three.project}/ran; false")
    three.git("config", "core.pager", f"touch {three.project}/ran; cat")
    three.cli.ok("commit", "--per-turn")
    assert not (three.project / "ran").exists() and not (three.project.parent / "ran").exists()


def test_the_users_identity_and_the_turns_time(three: Desk) -> None:
    three.git("config", "user.name", "Grace")
    three.cli._monkeypatch.delenv("GIT_AUTHOR_NAME")
    three.cli.ok("commit", "t1", "--branch", "x")
    name, at = three.git("log", "-1", "--format=%an|%at", "x").strip().split("|")
    assert name == "Grace"
    controller = three.scene.controller()
    stop = [r for r in controller.list_checkpoints() if r.trigger.get("event") == "Stop"][-1]
    assert int(at) == int(stop.created)


def test_commits_are_signed_if_the_user_signs(three: Desk, tmp_path: Path) -> None:
    program = tmp_path / "fake-gpg"
    program.write_text("#!/bin/sh\ncat > /dev/null\necho '[GNUPG:] SIG_CREATED ' >&2\n"
                       "printf -- '-----BEGIN PGP SIGNATURE-----\\n\\nfake\\n"
                       "-----END PGP SIGNATURE-----\\n'\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    three.git("config", "gpg.program", str(program))
    three.git("config", "commit.gpgSign", "true")
    three.cli.ok("commit", "t1", "--branch", "x")
    assert "gpgsig -----BEGIN PGP SIGNATURE-----" in three.git("cat-file", "commit", "x")


def test_a_dry_run_writes_nothing_at_all(three: Desk) -> None:
    before, files = git_state(three.project), tree_state(three.project)
    found = three.cli.json("commit", "--per-turn", "--dry-run")
    assert found["dryRun"] and len(found["commits"]) == 3
    assert git_state(three.project) == before
    assert differences(files, tree_state(three.project)) == {}
    assert "Would make 3 commits" in three.cli.ok("commit", "--per-turn", "--dry-run").err


def test_patches_apply_with_git_am(three: Desk, tmp_path: Path) -> None:
    three.git("config", "diff.noprefix", "true")
    before = git_state(three.project)
    found = three.cli.json("commit", "--per-turn", "--patches", str(tmp_path / "patches"))
    assert git_state(three.project) == before, "patches need nothing in the repository"
    assert found["branch"] is None and len(found["patches"]) == 3
    three.git("clone", "-q", str(three.project), str(tmp_path / "other"))
    git(tmp_path / "other", "am", "-q", *found["patches"], home=three.cli.home)
    three.cli.ok("commit", "--per-turn", "--branch", "x")
    assert (git(tmp_path / "other", "rev-parse", "HEAD^{tree}", home=three.cli.home)
            == three.git("rev-parse", "x^{tree}"))


def edit_with(desk: Desk, script: str) -> None:
    """An editor that is a sed script."""
    desk.cli._monkeypatch.setenv("EDITOR", f"sed -i -e '{script}'")


def test_commits_can_be_chosen_in_an_editor(three: Desk) -> None:
    edit_with(three, "s/^pick 2/squash 2/;s/^pick 3/drop 3/")
    found = three.cli.json("commit", "--edit", "--branch", "x")
    assert len(found["commits"]) == 1
    text = three.git("log", "-1", "--format=%B", "x")
    assert text.startswith("Write a login form\n") and "Make it longer" in text
    assert text.count("Rewind-Turn") == 2
    assert three.show("x", "login.py") == "one\ntwo\n" and three.show("x", "kept.txt") == "kept\n"


def test_a_message_can_be_reworded(three: Desk) -> None:
    edit_with(three, "s/^pick 1/reword 1/;s/^Write a login form$/Another subject/;/^pick [23]/d")
    three.cli.ok("commit", "--edit", "--branch", "x")
    assert three.git("log", "-1", "--format=%s", "x") == "Another subject\n"


def test_an_empty_list_does_nothing(three: Desk) -> None:
    edit_with(three, "d")
    before = git_state(three.project)
    assert "nothing was done" in three.cli.ok("commit", "--edit").err
    assert git_state(three.project) == before


@pytest.mark.parametrize(("script", "text"), [
    ("s/^pick 1/fixup 1/", "Cannot understand"),
    ("s/^pick 1/pick 9/", "Cannot understand"),
    ("s/^pick 1/squash 1/", "no commit before"),
    ("s/^pick 1/pick 3/", "reordered"),
])
def test_a_list_that_makes_no_sense_is_refused(three: Desk, script: str, text: str) -> None:
    edit_with(three, script)
    before = git_state(three.project)
    assert text in three.cli.fails(2, "commit", "--edit")
    assert git_state(three.project) == before


def test_an_editor_that_fails_ends_it(three: Desk) -> None:
    three.cli._monkeypatch.setenv("EDITOR", "false")
    assert "editor" in three.cli.fails(1, "commit", "--edit")


def test_before_the_first_commit_of_a_repository(cli: InProcess) -> None:
    desk = Desk(cli, commits=False)
    desk.turn("Begin", app_py="1\n")
    found = cli.json("commit", "--branch", "x")
    assert found["parent"] is None
    assert desk.git("ls-tree", "-r", "--name-only", "x").split() == ["app.py"]
    assert desk.git("rev-list", "--count", "x") == "1\n"


def test_in_a_project_below_the_top_of_the_repository(cli: InProcess) -> None:
    top = cli.project
    git(top, "init", "-q", home=cli.home)
    (top / ".gitignore").write_text("*.secret\n")
    (top / "outside.txt").write_text("1\n")
    git(top, "add", ".", home=cli.home)
    git(top, "commit", "-qm", "The first", home=cli.home)
    cli.project = top / "inner"
    cli.project.mkdir()
    cli.init()
    (cli.project / "app.py").write_text("1\n")
    (cli.project / "a.secret").write_text("1\n")
    cli.save("Write the app")
    cli.ok("commit", "--branch", "x")
    assert git(top, "ls-tree", "-r", "--name-only", "x", home=cli.home).split() == [
        ".gitignore", "inner/app.py", "outside.txt"]


def test_in_a_linked_work_tree(cli: InProcess, tmp_path: Path) -> None:
    main = tmp_path / "main"
    main.mkdir()
    git(main, "init", "-q", home=cli.home)
    git(main, "commit", "-q", "--allow-empty", "-m", "The first", home=cli.home)
    cli.project.rmdir()
    git(main, "worktree", "add", "-q", str(cli.project), home=cli.home)
    cli.init()
    (cli.project / "app.py").write_text("1\n")
    cli.save("Write the app")
    cli.ok("commit", "--branch", "x")
    assert git(main, "ls-tree", "--name-only", "x", home=cli.home) == "app.py\n"


# refused

def picture(desk: Desk) -> tuple[Any, ...]:
    return git_state(desk.project), tree_state(desk.project)


@pytest.mark.parametrize("what", ["merge", "rebase", "cherry-pick"])
def test_in_the_middle_of_something_it_is_refused(three: Desk, what: str) -> None:
    folder = three.project / ".git"
    if what == "rebase":
        (folder / "rebase-merge").mkdir()
    else:
        name = {"merge": "MERGE_HEAD", "cherry-pick": "CHERRY_PICK_HEAD"}[what]
        (folder / name).write_text("0" * 40 + "\n")
    before = picture(three)
    assert f"A {what} is in progress" in three.cli.fails(1, "commit")
    assert picture(three) == before


def test_a_real_rebase_that_stopped_is_refused(three: Desk) -> None:
    three.git("checkout", "-qb", "side")
    three.write("kept.txt", "side\n")
    three.git("commit", "-qam", "side")
    three.git("checkout", "-qf", "main")
    three.write("kept.txt", "main\n")
    three.git("commit", "-qam", "main")
    with pytest.raises(Exception, match="rebase"):
        three.git("rebase", "side")
    assert "A rebase is in progress" in three.cli.fails(1, "commit")


@pytest.mark.parametrize(("code", "words", "text"), [
    (1, ["--branch", "main"], "already exists: main"),
    (2, ["--branch", "a..b"], "Not a name for a branch"),
    (2, ["--branch", "x", "--patches", "y"], "no branch"),
    (12, ["t9"], "no turn 9"),
    (12, ["nothing..last"], "nothing"),
    (2, ["t3..t1"], "Not a range"),
    (1, ["--patches", "kept.txt"], "not an empty directory"),
    (12, ["--session", "00000000-nope"], "session"),
])
def test_bad_input_is_one_sentence_and_changes_nothing(three: Desk, code: int, words: list[str],
                                                       text: str) -> None:
    before = picture(three)
    assert text in three.cli.fails(code, "commit", *words)
    assert picture(three) == before


def test_a_turn_that_changed_nothing_has_no_commit(desk: Desk) -> None:
    desk.turn("Explain it")
    assert "nothing to commit" in desk.cli.fails(12, "commit").lower()
    desk.turn("Write it", app_py="1\n")
    found = desk.cli.json("commit", "--per-turn")
    assert [c["turn"] for c in found["commits"]] == [2]


def test_without_a_repository(cli: InProcess) -> None:
    cli.init()
    (cli.project / "a.txt").write_text("1\n")
    cli.save()
    assert "not in a git repository" in cli.fails(1, "commit")


def test_a_turn_without_a_checkpoint(three: Desk) -> None:
    three.scene.do("Nobody saved", b="1\n")
    three.scene.do("Nor here", c="1\n")
    three.turns += 2
    three.turn("Saved again", d_txt="1\n")
    before = three.untouched()
    assert "has no checkpoint of its own" in three.cli.fails(12, "commit", "t5")
    assert three.untouched() == before


def test_a_session_without_code(desk: Desk) -> None:
    desk.scene.do("Nobody made a checkpoint", b="1\n")
    before = desk.untouched()
    assert "No checkpoint was made in this session" in desk.cli.fails(12, "commit")
    assert desk.untouched() == before


def test_a_commit_that_is_gone(three: Desk) -> None:
    import shutil

    shutil.rmtree(three.project / ".git")
    three.git("init", "-q")
    assert "commit was checked out" in three.cli.fails(12, "commit")


def test_a_turn_that_is_not_saved_yet(desk: Desk) -> None:
    desk.turn("First", a_txt="1\n")
    desk.begin("Second")
    desk.write("b.txt", "1\n")
    desk.cli.fails(12, "commit", "t2", hint="rewind save")
    assert [c["turns"][0]["turn"] for c in desk.cli.json("commit")["commits"]] == [1]


def test_without_a_name_git_says_so(three: Desk) -> None:
    for who in ("AUTHOR", "COMMITTER"):
        three.cli._monkeypatch.delenv(f"GIT_{who}_NAME")
        three.cli._monkeypatch.delenv(f"GIT_{who}_EMAIL")
    three.git("config", "user.useConfigOnly", "true")
    before = three.untouched()
    assert "git commit-tree" in three.cli.fails(1, "commit")
    assert three.untouched() == before
