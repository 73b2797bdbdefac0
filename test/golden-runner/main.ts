import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { findGoldenFiles } from './golden-file.ts';
import type { Outcome } from './replay-case.ts';
import { replayOf } from './replay.ts';

const usage = `Usage: npm run golden -- FOLDER_OR_FILE...

Replays recorded behaviour of the kubelet (test/golden/manifests/README.md and test/golden/tables/README.md give the
formats; files are found by what they hold) and prints every case that came out otherwise.
`;

const maxValueLength = 300;

// Below all constants that it uses.
process.exitCode = await main(process.argv.slice(2));

/** Resolves to the exit code: 0 when every case agrees or differs on purpose, 1 when one fails, 2 for a wrong call. */
async function main(args: readonly string[]): Promise<number> {
  const paths = args.map((path) => resolve(process.env['INIT_CWD'] ?? '.', path));
  const missing = paths.filter((path) => !existsSync(path));
  if (paths.length === 0 || missing.length > 0) {
    process.stderr.write(missing.map((path) => `error: ${path} is not there\n`).join('') + usage);
    return 2;
  }
  const outcomes: Outcome[] = [];
  for (const file of paths.flatMap(findGoldenFiles)) {
    const { cases, end } = replayOf(file);
    for (const { name, run } of cases) {
      const outcome = await run();
      outcomes.push(outcome);
      if (outcome.verdict === 'failed') process.stdout.write(failureText(`${file.path} ${name}`, outcome.because));
    }
    await end?.();
  }
  if (outcomes.length === 0) process.stdout.write('no golden cases found\n');
  process.stdout.write(summary(outcomes));
  return outcomes.length > 0 && outcomes.every(({ verdict }) => verdict !== 'failed') ? 0 : 1;
}

type Failed = Extract<Outcome, { verdict: 'failed' }>;

function failureText(name: string, because: Failed['because']): string {
  if (typeof because === 'string') return `${name}: ${because}\n`;
  const { path, expected, actual } = because;
  return `${name}: ${path === '' ? 'result' : path}: expected ${valueText(expected)}, got ${valueText(actual)}\n`;
}

function valueText(value: unknown): string {
  // Undefined: an absent member.
  const text =
    value === undefined
      ? 'nothing'
      : JSON.stringify(value, (_key, member: unknown) => (typeof member === 'bigint' ? String(member) : member));
  return text.length <= maxValueLength ? text : `${text.slice(0, maxValueLength)}…`;
}

function summary(outcomes: readonly Outcome[]): string {
  const count = (verdict: Outcome['verdict']): number =>
    outcomes.filter((outcome) => outcome.verdict === verdict).length;
  const reasons = new Map<string, number>();
  for (const outcome of outcomes) {
    if (outcome.verdict === 'differs on purpose') reasons.set(outcome.reason, (reasons.get(outcome.reason) ?? 0) + 1);
  }
  const lines = [...reasons].map(([reason, cases]) => `  ${cases}: ${reason}`);
  if (lines.length > 0) lines.push(`${count('differs on purpose')} differ on purpose`);
  if (count('not answered yet') > 0) lines.push(`${count('not answered yet')} not answered yet`);
  return [...lines, `${count('passed')} passed, ${count('failed')} failed\n`].join('\n');
}
