import { parseArgs } from 'node:util';
import { UserError } from '../src/errors.ts';
import { reportMeasures } from './report.ts';

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
  /** Path of a podman to measure. */
  podman: string | undefined;
  /** True to write docs/internals/performance.md from the figures. */
  report: boolean;
  /** containerd releases to measure on, one after another, in the form that `findRelease` accepts. */
  containerd: string[];
}

export const usage = `Usage: npm run bench -- [options]
  --runs N           how often each figure is measured (default 10)
  --only NAME        only this measure; repeatable
  --sizes LIST       numbers of pods for the measure "scale" (default 125,250,500,1000)
  --json FILE        also write the figures to a file
  --containerd LIST  measure on these releases, one after the other: such as 1.6,2, "installed" (default), or folders
                     created by scripts/fetch-program; a release that is not installed is fetched
  --agent 'COMMAND'  measure another agent too; {dir} is its folder of manifests, {root} its root-dir and {sock} the path
                     of containerd's socket; repeatable. A kubelet: 'kubelet --pod-manifest-path={dir}
                     --root-dir={root} --container-runtime-endpoint=unix://{sock}'
  --podman PATH      measure podman kube play too
  --report           write docs/internals/performance.md and its picture from the figures of this run; without --only
                     and --sizes, these measures run: ${reportMeasures.join(', ')} (of 1000 pods)
  --help             show this text
Before each measure, the kernel drops its caches and compacts its free memory (/proc/sys/vm/drop_caches).
`;

export function parseOptions(args: readonly string[], names: readonly string[]): BenchOptions | 'help' {
  const { values } = parseArgs({
    args: [...args],
    options: {
      help: { type: 'boolean', short: 'h' },
      json: { type: 'string' },
      runs: { type: 'string', default: '10' },
      sizes: { type: 'string' },
      only: { type: 'string', multiple: true },
      agent: { type: 'string', multiple: true, default: [] },
      podman: { type: 'string' },
      report: { type: 'boolean', default: false },
      containerd: { type: 'string', default: 'installed' },
    },
  });
  if (values.help === true) return 'help';
  const runs = count('runs', values.runs);
  const { report, only = report ? reportMeasures : undefined } = values;
  const sizes = (values.sizes ?? (report ? '1000' : '125,250,500,1000')).split(',').map((size) => count('sizes', size));
  for (const name of only ?? []) {
    if (!names.includes(name)) {
      throw new UserError(`there is no measure "${name}"`, { hint: `Measures are: ${names.join(', ')}.` });
    }
  }
  const containerd = values.containerd.split(',');
  if (report && containerd.length > 1) throw new UserError('--report writes one page: name one release of containerd');
  return { json: values.json, runs, only, sizes, agents: values.agent, podman: values.podman, report, containerd };
}

function count(option: string, text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1)
    throw new UserError(`--${option} must be a whole number from 1, not "${text}"`);
  return value;
}
