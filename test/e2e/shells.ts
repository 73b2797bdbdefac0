import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { program } from './program.ts';

interface Typed {
  /** Command lines whose end is under the cursor. */
  lines: readonly string[];
  /** The folder in which the shell runs. */
  folder: string;
  /** That of the agent. */
  rootDir: string;
}

/** Words that a shell offers, by command line. */
type Completions = Record<string, string[]>;

/** Real shells: zsh finds the completion script in its fpath, as from a package, or sources it; fish sources it. */
export const shells: Readonly<Record<string, (typed: Typed) => Promise<Completions>>> = {
  zsh: (typed) => zsh(typed, 'fpath=($HOME/.bin $fpath); autoload -Uz compinit; compinit -D'),
  'zsh that sources it': (typed) => zsh(typed, 'autoload -Uz compinit; compinit -D; source $HOME/.bin/_kubelet-ts'),
  fish: async (typed) => {
    const options = await prepare(typed, 'fish');
    const session = 'source $argv[1]; for line in $argv[2..]; complete --do-complete $line; echo "<$line>"; end';
    const { stdout } = await execa('fish', ['-c', session, '.bin/_kubelet-ts', ...typed.lines], options);
    return byLine(stdout, typed.lines);
  },
};

/** The program and its completion script in a folder that is also the home, so the shell has no settings. */
async function prepare({ folder, rootDir }: Typed, shell: string) {
  const bin = join(folder, '.bin');
  await mkdir(bin);
  await symlink(program, join(bin, 'kubelet-ts'));
  const { stdout } = await execa(program, ['completion', shell]);
  await writeFile(join(bin, '_kubelet-ts'), stdout);
  const path = `${bin}:${process.env['PATH']}`;
  return {
    cwd: folder,
    timeout: 120_000,
    env: { PATH: path, HOME: folder, TERM: 'dumb', KUBELET_TS_ROOT_DIR: rootDir },
  };
}

async function zsh(typed: Typed, setUp: string): Promise<Completions> {
  await execa('zsh', ['-f', '-c', zshSession, 'zsh', setUp, ...typed.lines], await prepare(typed, 'zsh'));
  return byLine(await readFile(join(typed.folder, '.bin/offered'), 'utf8'), typed.lines);
}

/**
 * An interactive zsh on a terminal of its own. Its completion adds words by `compadd`, which notes them first. Ctrl-X
 * ends a line: the next one is typed then.
 */
const zshSession = String.raw`
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "$1"
shift
zpty -w shell 'bindkey "^I" complete-word
compadd() {
  if [[ " $* " != *\ -[OAD]\ * ]]; then
    local -a words
    builtin compadd -A words "$@"
    print -rC 1 -- $words >>$HOME/.bin/offered
  fi
  builtin compadd "$@"
}
end-line() { print -r -- "<$BUFFER>" >>$HOME/.bin/offered; BUFFER= ; print ENDED }
zle -N end-line; bindkey "^X" end-line; print REA""DY'
zpty -r shell output "*READY*"
for line; do
  zpty -w -n shell "$line"$'\t\x18'
  zpty -r shell output "*ENDED*"
done
zpty -d shell
`;

/** Words stand one a line before `<the command line>`, with the slash of a folder or a description after a tab. */
function byLine(text: string, lines: readonly string[]): Completions {
  const parts = text.split(/^<.*>$/m);
  const wordsOf = (part = ''): string[] => part.split('\n').filter((word) => word !== '');
  return Object.fromEntries(
    lines.map((line, index) => [
      line,
      wordsOf(parts[index])
        .map((word) => word.replace(/\/?(\t.*)?$/, ''))
        .toSorted(),
    ]),
  );
}
