"""Secrets in what is shown: each form in which one may stand is masked, and what is none is left."""

from __future__ import annotations

import inspect
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hai_client.masking
import haienv.shared.masking
from haienv.cli import main
from haienv.shared.errors import HaienvError
from haienv.shared.masking import masked, quoted

SECRET = "S3CR3T-of-ann"
#: The forms of an address with a secret in it, and of what else holds one.
ADDRESSES = (
    "https://ann:{}@pypi.example/simple", "https://{}@pypi.example/simple", "https://:{}@pypi.example/simple",
    "https://ann:a/{}@pypi.example/simple", "https://ann:a@{}@pypi.example/simple", "http://ann:{}@[::1]:8080/simple",
    "https://pypi.example/simple?token={}", "https://pypi.example/s?a=1&access_token={}&b=2",
    "https://pypi.example/s?private_token={}", "https://pypi.example/s?X-Amz-Signature={}&X-Amz-Expires=9",
    "https://pypi.example/s?sv=2&sig={}", "https://pypi.example/s?api_key={}", "https://pypi.example/s#token={}",
    "https://conda.example/t/{}/forge",
)  # fmt: skip
OTHERS = (
    "ann:{}@pypi.example/simple", "ssh://git:{}@h/x.git", "postgresql+psycopg://hai:{}@db/hai", "redis://:{}@h:6379/0",
    "PIP_PASSWORD={}", "UV_INDEX_CORP_PASSWORD='{}'", "HF_TOKEN={}", 'api_key="{}"', "--password {}", "--token={}",
    "AWS_SECRET_ACCESS_KEY={}", "client-secret={}", "Authorization: Bearer {}", "authorization: {}",
    "Cookie: a=b; c={}",
    "{{'Authorization': 'token {}'}}", "PRIVATE-TOKEN: {}", "X-Api-Key: {}", "used bearer {}.",
    "https://hooks.slack.example/services/T0/B0/{}", "https://chat.example/hooks/{}",
    "https://chat.example/api/webhooks/1/{}", "https://firm.webhook.office.example/webhookb2/{}",
)  # fmt: skip
AROUND = ("{}", "-i {}", "x @ {}", "error: `{}` failed", '"{}"', "['{}', 'b']", "{}\nnext", "a {}, b", "({})")


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("form", [*ADDRESSES, *OTHERS])
def test_a_secret_of_any_form_is_masked_wherever_it_stands(form: str, around: str) -> None:
    text = around.format(form.format(SECRET))
    assert SECRET not in masked(text)
    assert SECRET not in masked(repr(text))
    assert SECRET not in masked(json.dumps({"x": text}))
    assert masked(masked(text)) == masked(text)


def test_json_stays_json() -> None:
    assert json.loads(masked(json.dumps({"password": SECRET, "b": 1}))) == {"password": "***", "b": 1}


@pytest.mark.parametrize(
    "text",
    [
        "https://host:8080/x@v1", "git+https://github.com/x/y.git@v1.0", "python:3.11@sha256:abcdef", "vision@3",
        "token: The Hub does not know this token", "ann@example.org", "HAI_TOKEN_FILE=/x/y", "password is missing",
        "numpy=1.2=b", "mail: ann@example.org", "users/ann/vision@3", "https://h/a:b@c",
        "--hash=sha256:12", "--token FILE",
        "http://127.0.0.1:8000/services/hai/api/v1/tasks?limit=5", "/home/t/x/y", "pypi-attestations-of-somebody==1",
        "key=value", "a=b", "--password has to be given", "the option --token is missing", "--api-key must be set",
        "git@github.com:x/y.git", "scp a ann@host:/x", "token: 5 tokens left", "--max-tokens 2048",
        "x @ https://h/x.whl#sha256=12", "12:30:00 ann@h",
        "use sqlite:///PATH or postgresql://USER@HOST/NAME", "write redis://HOST:6379/0", "http://127.0.0.1:8000, then",
        "'http://127.0.0.1:8000'", "http://HOST:PORT", "it is at http://h:80: look",
    ],
)  # fmt: skip
def test_what_is_no_secret_is_left(text: str) -> None:
    assert masked(text) == text


@pytest.mark.parametrize("piece", [":/", "://", "://a:", "%", "://x/", "http://hooks.", "webhook", "--", "x-", "a-"])
@pytest.mark.parametrize("before", ["", "://", "x@y "])
def test_a_long_text_of_beginnings_is_looked_through(piece: str, before: str) -> None:
    # With a pattern that looks far from each of them this takes minutes, and the limit of a test ends it.
    text = before + piece * 60_000
    assert masked(text) == text


@given(st.text(st.sampled_from("abz019.,_~!$*+-/:@&=?%#"), min_size=1, max_size=20), st.sampled_from(ADDRESSES[:3]))
def test_no_password_of_any_characters_is_left_in_an_address(password: str, form: str) -> None:
    # What stands before the last @ is the password: where it is no port, and where no path or query begins in it.
    secret = f"S3{password.replace('?', '').replace('#', '').replace('/', '')}CR3T"
    assert secret not in masked(f"-i {form.format(secret)} x")


def test_a_value_is_masked_before_it_is_shortened() -> None:
    assert quoted(f"https://ann:{SECRET * 10}@pypi.example/simple", 40) == "'https://***@pypi.example/simple'"


def test_a_secret_that_others_have_cut_is_known_by_its_place() -> None:
    # Behind a host and a colon stands a port, else a password.
    text = f"https://ann:{SECRET}"
    for end in range(len("https://ann:S3C"), len(text) + 1):
        assert masked(repr(text[:end])) == "'https://***'"


def test_an_error_holds_no_secret_in_any_of_its_forms() -> None:
    error = HaienvError(f"index: https://ann:{SECRET}@h is wrong")
    assert SECRET not in f"{error} {error!r} {error.args}"


@pytest.mark.parametrize("unit", ["://", ":/", "/::", "a%", "a-", "--", "/a:"])
def test_a_long_text_is_looked_at_once(unit: str) -> None:
    """A pattern that looks from each place on to the end takes minutes here."""
    text = unit * (100_000 // len(unit))
    assert masked(text) == text


def test_both_packages_mask_by_the_same_text() -> None:
    assert inspect.getsource(hai_client.masking) == inspect.getsource(haienv.shared.masking)


#: Every way by which a text of the user gets into haienv.
FILES = {
    "requirements.txt": (
        "{}\n", "-e {}\n", "-e git+{}#egg=y\n", "--editable={}\n", "-r {}\n", "-c {}\n", "--requirement={}\n",
        "-i {}\n", "--extra-index-url {}\n", "-f {}\n", "--find-links={}\n", "x @ {}\n",
        "--trusted-host {}\n",
        "x @ git+{}\n", "--proxy {}\n", "x --config-settings={}\n", "={}\n", "-{}\n", "--{}\n", "--unknown {}\n",
        "--hash=sha256:1 {}\n", "x ; {}\n",
    ),
    "environment.yml": (
        "dependencies:\n- '{}'\n", "dependencies:\n- '{}::x'\n", "channels: ['{}']\ndependencies: [x, '=1']\n",
        "dependencies:\n- x\n- pip:\n  - '{}'\n", "dependencies:\n- x\n- pip:\n  - '--extra-index-url {}'\n",
        "dependencies:\n- x\n- pip:\n  - '-r {}'\n", "dependencies:\n- x\n- pip:\n  - '-e {}'\n",
        "dependencies:\n- x\n- pip:\n  - 'x @ {}'\n", "'{}': 1\n", "variables: {{'{}': 1}}\n", "dependencies: '{}'\n",
        "dependencies:\n- '{}': 1\n", "dependencies:\n- x[channel='{}'\n", "dependencies: ['{}'\n",
        "dependencies: [\"x[url='{}']\"]\nnope: 1\n",
    ),
    "list.txt": ("@EXPLICIT\n{}\n", "# $ conda create --name <env> --file <this file>\n{}\n"),
    "pyproject.toml": (
        "[project]\nname = 'a'\ndependencies = ['x @ {}']\n", "[project]\nname = 'a'\ndependencies = ['{}']\n",
        "[project]\ndependencies = [{}]\n",
        "[project]\nname='a'\ndependencies=['x']\n[tool.uv.sources]\nx={{url='{}'}}\n",
    ),
    "pylock.toml": (
        "lock-version = '1.0'\n[[packages]]\nname = 'x'\narchive = {{url = '{}', hashes = {{sha256 = '1'}}}}\n",
        "lock-version = '{}'\n", "lock-version = '1.0'\n[[packages]]\nname = '{}'\n",
        "lock-version = '1.0'\nenvironments = [\"sys_platform == '{}'\"]\n[[packages]]\nname = 'x'\n",
    ),
    "uv.lock": (
        "version = 1\n[[package]]\nname = 'x'\nsource = {{ git = '{}' }}\n",
        "version = 1\n[[package]]\nname = '{}'\nsource = {{ git = 'x' }}\n",
    ),
}  # fmt: skip
WORDS = (
    ("{}",), ("-e", "{}"), ("--extra-index-url {}",), ("--extra-index-url={}",), ("--index", "{}"), ("x @ {}",),
    ("-r", "{}"), ("--from={}",), ("-p", "{}"), ("--variable", "{}"), ("--variable", "{}=x y"), ("--extend", "{}"),
    ("--extra-search-dir", "{}"), ("--nope={}",), ("--extra", "{}", "-r", "requirements.txt"), ("-u", "{}"),
)  # fmt: skip


@pytest.fixture
def _empty_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HAIENV_ROOT", str(tmp_path / "root"))
    # Nothing is built: what is right so far ends here.
    monkeypatch.setenv("HAIENV_UV", "/bin/false")


@pytest.mark.usefixtures("_empty_place")
@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize(("name", "form"), [(name, form) for name, forms in FILES.items() for form in forms])
def test_no_message_about_a_file_has_a_secret_of_it(
    name: str, form: str, address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(name).write_text(form.format(address.format(SECRET)))
    assert main(["create", "a", "--no-kernel", "-r", name]) != 0
    told = capsys.readouterr()
    assert told.err.startswith("haienv: ")
    assert SECRET not in told.out + told.err
    _nothing_kept()


@pytest.mark.usefixtures("_empty_place")
@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("words", WORDS)
def test_no_message_about_the_command_line_has_a_secret_of_it(
    words: tuple[str, ...], address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("requirements.txt").write_text("six\n")
    given_words = [word.format(address.format(SECRET)) for word in words]
    assert main(["create", "a", "--no-kernel", *given_words]) != 0
    told = capsys.readouterr()
    assert SECRET not in told.out + told.err
    _nothing_kept()


def _nothing_kept() -> None:
    """Check that no file below the root, which others read, has the secret."""
    for path in Path("root").rglob("*"):
        if path.is_file() and not path.is_symlink():
            assert SECRET not in path.read_text(errors="replace"), path
