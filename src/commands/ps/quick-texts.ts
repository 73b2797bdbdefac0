import { emptyText, linesText, type Texts } from '../../engine/listing/pod-table-text.ts';
import { rootDirNamed } from '../../root-dir.ts';
import type { AgentTable } from '../../server/control/state-routes.ts';
import { plainAnswer } from '../../server/control/plain-answer.ts';
import { controlSocketPath } from '../../server/control/socket-paths.ts';
import { isPlain } from '../../visible-text.ts';
import { alignTable, type Letters, plainLetters } from '../../align-table.ts';
import { printedTable, type Terminal } from './table-text.ts';

/** An agent that is slower may be stuck. */
const timeoutMs = 1000;

interface QuickFlags {
  rootDir: string | undefined;
  headers: boolean;
}

/**
 * The output of a common `ps`, which the agent makes. For a terminal it makes the cells alone. Resolves to undefined if
 * the whole command must run: for other flags, without an agent, for one that does not answer or has no such table, and
 * on a terminal for other letters than ASCII that the agent did not measure or that are to be cut.
 */
export async function quickTexts(
  words: readonly string[],
  terminal: (() => Terminal) | undefined,
): Promise<Texts | undefined> {
  const flags = quickFlags(words);
  if (flags === undefined) return undefined;
  const { headers, rootDir = process.env['KUBELET_TS_ROOT_DIR'] ?? '' } = flags;
  const ask = (path: string): Promise<string | undefined> =>
    plainAnswer(controlSocketPath(rootDirNamed(rootDir)), path, timeoutMs);
  const options = headers ? '' : 'no-headers';
  if (terminal === undefined) return textsIn(await ask(`/v1/pod-table/text?${options}`));
  const answer = await ask(`/v1/pod-table?${options}`);
  const table = answer === undefined ? undefined : (parsed(answer) as AgentTable | undefined);
  if (table === undefined) return undefined;
  const letters = new MeasuredLetters(table);
  const { rows, ...printed } = await printedTable(table, { headers, stdout: terminal() });
  const stdout = table.rows.length === 0 ? emptyText(headers) : alignTable(rows, letters, printed);
  return letters.missed ? undefined : { stdout, stderr: linesText(table.warnings) };
}

/** Returns undefined if the answer has no such texts. */
function textsIn(answer: string | undefined): Texts | undefined {
  const texts = answer === undefined ? undefined : (parsed(answer) as Partial<Texts> | undefined);
  const { stdout, stderr } = texts ?? {};
  return typeof stdout === 'string' && typeof stderr === 'string' ? { stdout, stderr } : undefined;
}

/** The widths of texts, for letters other than ASCII as the agent measured them. */
class MeasuredLetters implements Letters {
  readonly #widths: ReadonlyMap<string, number>;
  /** True once a text was asked for that the agent did not measure, or that is to be cut. */
  missed = false;

  constructor({ rows }: AgentTable) {
    this.#widths = new Map(
      rows.flatMap(({ cells, widths = [] }) => widths.map((width, at) => [cells[at] ?? '', width])),
    );
  }

  readonly widthOf = (text: string): number => {
    const width = isPlain(text) ? text.length : this.#widths.get(text);
    this.missed ||= width === undefined;
    return width ?? 0;
  };

  readonly beginningOf = (text: string, width: number): string => {
    this.missed ||= !isPlain(text);
    return plainLetters.beginningOf(text, width);
  };
}

function parsed(answer: string): unknown {
  try {
    return JSON.parse(answer) as unknown;
  } catch {
    return undefined;
  }
}

/** Returns undefined if there are other words. */
function quickFlags(words: readonly string[]): QuickFlags | undefined {
  const flags: QuickFlags = { rootDir: undefined, headers: true };
  const rest = [...words];
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    if (word === '--no-headers') flags.headers = false;
    else if (word === '--root-dir' && rest.length > 0) flags.rootDir = rest.shift();
    else if (word.startsWith('--root-dir=')) flags.rootDir = word.slice('--root-dir='.length);
    else if (word === '--container-runtime-endpoint' && rest.length > 0) rest.shift();
    else if (word !== '-A' && word !== '--all-namespaces') return undefined;
  }
  return flags;
}
