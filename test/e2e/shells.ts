import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { program } from './program.ts';

interface Typed {
  /** Command lines with the cursor at the end. */
  lines: readonly string[];
  /** The folder in which the shell runs. */
  folder: string;
  /** The agent's root-dir. */
  rootDir: string;
}

/** The words that a shell offers, by command line. */
type Completions = Record<string, string[]>;

/** Real shells. zsh finds the completion script in its fpath, as from a package, or sources it; fish sources it. */
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

/**
 * Prepares a folder with the program and its completion script. The folder is also the home, so that the shell has no
 * settings.
 */
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
 * An interactive zsh on a separate terminal. Its completion adds words with `compadd`, which first records them. Ctrl-X
 * ends a line, and then the next one is typed.
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

/**
 * Words are listed one per line before `<the command line>`, followed by a folder's slash or by a tab and a
 * description.
 */
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
