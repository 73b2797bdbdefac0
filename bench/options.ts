import { parseArgs } from 'node:util';
import { UserError } from '../src/errors.ts';

export interface BenchOptions {
  /** File to which the figures are written as JSON. */
  json: string | undefined;
  /** Number of samples per figure of a single pod. */
  runs: number;
  /** Numbers of pods for the measure "scale". */
  sizes: number[];
  /** Names of measures to run. Undefined means all. */
  only: string[] | undefined;
  /** Commands of other agents to measure, with the placeholders {dir}, {root} and {sock}. */
  agents: string[];
  /** containerd releases to measure on, one after another, in the form that `findRelease` accepts. */
  containerd: string[];
}

export const usage = `Usage: npm run bench -- [options]
  --runs N           how often each figure is taken (default 10)
  --only NAME        only this measure; repeatable
  --sizes LIST       numbers of pods that the measure "scale" takes (default 125,250,500,1000)
  --json FILE        write the figures to a file too
  --containerd LIST  measure on these releases, one after the other: 1.6,2 say, "installed" (default), or folders as
                     scripts/fetch-program makes them; what is not installed is fetched
  --agent 'COMMAND'  measure another agent too; {dir} is its folder of manifests, {root} a folder of its own and {sock}
                     the path of containerd's socket; repeatable
Before each measure the kernel drops its caches and joins its free memory, as by /proc/sys/vm/drop_caches.
`;

export function parseOptions(args: readonly string[], names: readonly string[]): BenchOptions | 'help' {
  const { values } = parseArgs({
    args: [...args],
    options: {
      help: { type: 'boolean', short: 'h' },
      json: { type: 'string' },
      runs: { type: 'string', default: '10' },
      sizes: { type: 'string', default: '125,250,500,1000' },
      only: { type: 'string', multiple: true },
      agent: { type: 'string', multiple: true, default: [] },
      containerd: { type: 'string', default: 'installed' },
    },
  });
  if (values.help === true) return 'help';
  const runs = count('runs', values.runs);
  const sizes = values.sizes.split(',').map((size) => count('sizes', size));
  for (const name of values.only ?? []) {
    if (!names.includes(name)) {
      throw new UserError(`there is no measure "${name}"`, { hint: `Measures are: ${names.join(', ')}.` });
    }
  }
  return {
    json: values.json,
    runs,
    only: values.only,
    sizes,
    agents: values.agent,
    containerd: values.containerd.split(','),
  };
}

function count(option: string, text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1)
    throw new UserError(`--${option} must be a whole number from 1, not "${text}"`);
  return value;
}
