import { parseArgs } from 'node:util';
import { UserError } from '../src/errors.ts';

export interface BenchOptions {
  /** Where the figures go as JSON. */
  json: string | undefined;
  /** How often each figure of one pod is taken. */
  runs: number;
  /** Names of measures; undefined: all. */
  only: string[] | undefined;
  /** Commands of other agents, measured beside ours; with {dir}, {root} and {sock}. */
  agents: string[];
  /** Folder of another containerd release, as scripts/fetch-containerd makes it. */
  containerd: string | undefined;
}

export const usage = `Usage: npm run bench -- [options]
  --runs N           how often each figure is taken (default 10)
  --only NAME        only this measure; repeatable
  --json FILE        write the figures to a file too
  --containerd DIR   run the containerd of this folder (scripts/fetch-containerd) in place of the installed one
  --agent 'COMMAND'  measure another agent too; {dir} is its folder of manifests, {root} a folder of its own and {sock}
                     the path of containerd's socket; repeatable
`;

export function parseOptions(args: readonly string[], names: readonly string[]): BenchOptions | 'help' {
  const { values } = parseArgs({
    args: [...args],
    options: {
      help: { type: 'boolean', short: 'h' },
      json: { type: 'string' },
      runs: { type: 'string', default: '10' },
      only: { type: 'string', multiple: true },
      agent: { type: 'string', multiple: true, default: [] },
      containerd: { type: 'string' },
    },
  });
  if (values.help === true) return 'help';
  const runs = Number(values.runs);
  if (!Number.isInteger(runs) || runs < 1)
    throw new UserError(`--runs must be a whole number from 1, not "${values.runs}"`);
  for (const name of values.only ?? []) {
    if (!names.includes(name)) {
      throw new UserError(`there is no measure "${name}"`, { hint: `Measures are: ${names.join(', ')}.` });
    }
  }
  return { json: values.json, runs, only: values.only, agents: values.agent, containerd: values.containerd };
}
