"""What can be typed after `holdfast`, written down in each shell's own language. Pure text."""

from collections.abc import Callable, Iterator
from typing import NamedTuple


class Argument(NamedTuple):
    choices: tuple[str, ...]
    is_file: bool


class Option(NamedTuple):
    names: tuple[str, ...]
    help: str
    value: Argument | None = None


class Outline(NamedTuple):
    """One command as its parser describes it; the root is `holdfast` itself."""

    path: tuple[str, ...]
    help: str
    options: tuple[Option, ...]
    arguments: tuple[Argument, ...]
    children: tuple["Outline", ...]

    @property
    def name(self) -> str:
        return " ".join(self.path)

    @property
    def words(self) -> list[str]:
        """What may stand at the next place, apart from options and files."""
        choices = [choice for argument in self.arguments for choice in argument.choices]
        return [child.path[-1] for child in self.children] + choices

    @property
    def takes_files(self) -> bool:
        return any(argument.is_file for argument in self.arguments)

    def walk(self) -> Iterator["Outline"]:
        yield self
        for child in self.children:
            yield from child.walk()


def bash(root: Outline) -> str:
    return f"""\
# bash completion for holdfast. Load it with: source <(holdfast completion bash)
_holdfast() {{
    local IFS=$' \\t\\n' path= option= word words= flags= files= i
    local cur=${{COMP_WORDS[COMP_CWORD]}}
    for ((i = 1; i < COMP_CWORD; i++)); do
        word=${{COMP_WORDS[i]}}
        [[ $word == "=" ]] && continue
        [[ -n $option ]] && {{ option=; continue; }}
{_walk(root)}
    done
    [[ $cur == "=" ]] && cur=
{_offers(root)}
    if [[ $cur == -* && -z $option ]]; then
        COMPREPLY=($(compgen -W "$flags" -- "$cur"))
        return
    fi
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
    if [[ -n $files ]]; then
        compopt -o filenames 2>/dev/null
        while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -f -- "$cur")
    fi
}}
complete -F _holdfast holdfast
"""


def zsh(root: Outline) -> str:
    return f"""\
#compdef holdfast
# zsh completion for holdfast. Save it as _holdfast in a directory of $fpath.
_holdfast() {{
    local path_= option= word words_= flags= files= i
    for ((i = 2; i < CURRENT; i++)); do
        word=${{words[i]}}
        [[ -n $option ]] && {{ option=; continue; }}
{_walk(root, "path_")}
    done
{_offers(root, "path_", "words_")}
    if [[ ${{words[CURRENT]}} == -* && -z $option ]]; then
        compadd -- ${{=flags}}
        return
    fi
    [[ -n $words_ ]] && compadd -- ${{=words_}}
    [[ -n $files ]] && _files
    return 0
}}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then _holdfast "$@"; else compdef _holdfast holdfast; fi
"""


def _walk(root: Outline, path: str = "path") -> str:
    """Follow what was typed: into a command, or up to an option that waits for its value."""
    steps = [f'"{_place(c.path[:-1], c.path[-1])}"' for o in root.walk() for c in o.children]
    waiting = [f'"{place}"' for place, _ in _values(root)]
    cases = [
        f'        case "${path} $word" in',
        f"            {'|'.join(steps)}) {path}=${{{path}:+${path} }}$word ;;",
    ]
    if waiting:
        cases.append(f"            {'|'.join(waiting)}) option=$word ;;")
    return "\n".join([*cases, "        esac"])


def _offers(root: Outline, path: str = "path", words: str = "words") -> str:
    lines = [f'    case "${path}${{option:+ $option}}" in']
    for outline in root.walk():
        flags = " ".join(name for option in outline.options for name in option.names)
        offer = _offer(" ".join(outline.words), outline.takes_files, words)
        lines.append(f'        "{outline.name}") flags="{flags}" {offer} ;;')
    for place, value in _values(root):
        lines.append(f'        "{place}") {_offer(" ".join(value.choices), value.is_file, words)} ;;')
    return "\n".join([*lines, "    esac"])


def _offer(choices: str, is_file: bool, words: str) -> str:
    return f'{words}="{choices}" files={"1" if is_file else ""}'


def _values(root: Outline) -> Iterator[tuple[str, Argument]]:
    for outline in root.walk():
        for option in outline.options:
            if option.value is not None:
                yield from ((_place(outline.path, name), option.value) for name in option.names)


def _place(path: tuple[str, ...], word: str) -> str:
    return f"{' '.join(path)} {word}"


def fish(root: Outline) -> str:
    lines = ["# fish completion for holdfast. Save it as ~/.config/fish/completions/holdfast.fish"]
    lines.append("complete -c holdfast -f")
    for outline in root.walk():
        condition = _fish_condition(root, outline)
        lines += [_fish(condition, f"-a {c.path[-1]}", c.help) for c in outline.children]
        lines += [_fish(condition, f"-a {choice}") for a in outline.arguments for choice in a.choices]
        lines += [_fish(condition, "-F")] * outline.takes_files
        lines += [_fish(condition, _fish_option(option), option.help) for option in outline.options]
    return "\n".join(lines) + "\n"


def _fish_condition(root: Outline, outline: Outline) -> str:
    if not outline.path:
        return "not __fish_seen_subcommand_from " + " ".join(root.words)
    seen = [f"__fish_seen_subcommand_from {word}" for word in outline.path]
    if outline.children:
        seen.append("not __fish_seen_subcommand_from " + " ".join(outline.words))
    return "; and ".join(seen)


def _fish_option(option: Option) -> str:
    names = [f"-l {n[2:]}" if n.startswith("--") else f"-s {n[1:]}" for n in option.names]
    if option.value:
        names += ["-r", "-F" if option.value.is_file else "-f"]
        names += [f'-a "{" ".join(option.value.choices)}"'] * bool(option.value.choices)
    return " ".join(names)


def _fish(condition: str, what: str, text: str = "") -> str:
    quoted = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"complete -c holdfast -n '{condition}' {what}" + (f" -d '{quoted}'" if text else "")


SHELLS: dict[str, Callable[[Outline], str]] = {"bash": bash, "zsh": zsh, "fish": fish}
