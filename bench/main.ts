import { writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { formatTable } from '../src/commands/format-table.ts';
import { UserError } from '../src/errors.ts';
import { Figures, tableRows } from './figures.ts';
import { measures } from './measures.ts';
import { type BenchOptions, parseOptions, usage } from './options.ts';
import { Stage } from './stage.ts';

const ours = {
  name: 'kubelet-ts',
  command:
    `${process.execPath} bin/kubelet-ts run --no-tui --healthz-port 0 --root-dir {root} --pod-logs-dir {root}/logs ` +
    '--container-runtime-endpoint unix://{sock} {dir}',
};

/** Run by scripts/bench, in the folder of the project. */
async function bench({ runs, only, agents, containerd, json }: BenchOptions): Promise<void> {
  const figures = new Figures();
  const others = agents.map((command, index) => ({
    name: agents.length === 1 ? 'other' : `other ${index + 1}`,
    command,
  }));
  const stage = await Stage.open(
    join('.cache', 'images', 'busybox.tar'),
    containerd,
    pino({ level: 'warn' }, pino.destination(2)),
  );
  try {
    for (const name of only ?? Object.keys(measures)) {
      process.stderr.write(`measuring: ${name}\n`);
      await measures[name]?.({ stage, figures, agents: [ours, ...others], runs });
    }
  } finally {
    await stage.close();
  }
  const machine = { cpus: availableParallelism(), node: process.version, containerd: stage.containerdVersion };
  process.stdout.write(`${machine.cpus} CPUs, Node ${machine.node}, containerd ${machine.containerd}\n\n`);
  process.stdout.write(formatTable(tableRows(figures.summaries())));
  if (json !== undefined)
    await writeFile(json, `${JSON.stringify({ machine, figures: figures.summaries() }, undefined, 2)}\n`);
}

try {
  const options = parseOptions(process.argv.slice(2), Object.keys(measures));
  if (options === 'help') process.stdout.write(usage);
  else await bench(options);
} catch (error) {
  if (!(error instanceof UserError)) throw error;
  process.stderr.write(`error: ${error.message}\n${error.hint === undefined ? '' : `hint: ${error.hint}\n`}`);
  process.exitCode = error.exitCode;
}
