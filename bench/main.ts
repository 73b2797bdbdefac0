import { writeFile } from 'node:fs/promises';
import { availableParallelism, cpus, loadavg, release, totalmem } from 'node:os';
import { basename } from 'node:path';
import { pino } from 'pino';
import { format, resolveConfig } from 'prettier';
import { formatTable } from '../src/text/format-table.ts';
import type { InstalledContainerd } from '../src/containerd/find-containerd.ts';
import { UserError } from '../src/errors.ts';
import { imageArchive } from './bench-pod.ts';
import { compactMemory } from './compact-memory.ts';
import { findRelease } from './containerd-release.ts';
import { Figures, type Summary, tableRows } from './figures.ts';
import { boxMeasures, ownMeasures, stageMeasures } from './measures.ts';
import { type BenchOptions, parseOptions, usage } from './options.ts';
import recorded from './recorded.json' with { type: 'json' };
import stated from './stated.json' with { type: 'json' };
import { performancePage, performancePicture, type Report } from './report.ts';
import { Stage } from './stage.ts';

// Started by the file's own first lines, like an installed one, because they configure the allocator.
const ours = {
  name: 'kubelet-ts',
  command:
    'bin/kubelet-ts run --no-tui --healthz-port 0 --root-dir {root} --pod-logs-dir {root}/logs ' +
    '--container-runtime-endpoint unix://{sock} {dir}',
};

/** The figures of one part of the benchmark. */
interface Part {
  /** Version of containerd. Undefined if the part uses none. */
  containerd?: string;
  figures: Summary[];
}

/** Run by scripts/bench in the project's folder. Prints each part as soon as it is measured. */
async function bench(options: BenchOptions): Promise<void> {
  const machine = { cpus: availableParallelism(), node: process.version };
  process.stdout.write(`${machine.cpus} CPUs, Node ${machine.node}\n`);
  const [load = NaN] = loadavg();
  const parts: Part[] = [];
  for await (const part of measuredParts(options)) {
    parts.push(part);
    process.stdout.write(
      `\n${part.containerd === undefined ? 'without a runtime' : `containerd ${part.containerd}`}\n\n`,
    );
    process.stdout.write(await formatTable(tableRows(part.figures)));
  }
  if (options.json !== undefined)
    await writeFile(options.json, `${JSON.stringify({ machine, parts }, undefined, 2)}\n`);
  if (options.report) await writeReport(parts, load, options);
}

const pageFile = 'docs/internals/performance.md';

async function writeReport(parts: readonly Part[], load: number, { runs }: BenchOptions): Promise<void> {
  const releases = parts.flatMap(({ containerd }) => (containerd === undefined ? [] : [`containerd ${containerd}`]));
  const report: Report = {
    date: new Date().toISOString().slice(0, 10),
    machine: [
      `${availableParallelism()} CPUs (${cpus()[0]?.model ?? 'unknown'}), ${Math.round(totalmem() / 2 ** 30)} GiB of memory, load ${load.toFixed(1)} before`,
      [`Linux ${release()}`, `Node ${process.version}`, ...releases].join(', '),
    ],
    runs,
    figures: parts.flatMap(({ figures }) => figures),
    recorded,
    stated,
    measures: measureNames,
  };
  const settings = {
    ...(await resolveConfig(pageFile)),
    filepath: pageFile,
    proseWrap: 'always',
    printWidth: 130,
  } as const;
  await writeFile(pageFile, await format(performancePage(report), settings));
  await writeFile(pageFile.replace('.md', '.svg'), performancePicture(report));
  process.stdout.write(`\nwritten: ${pageFile}\n`);
}

async function* measuredParts(options: BenchOptions): AsyncGenerator<Part> {
  const wanted = <Measure>(measures: Record<string, Measure>): [string, Measure][] =>
    Object.entries(measures).filter(([name]) => options.only?.includes(name) ?? true);
  const onStage = wanted(stageMeasures);
  const ofBox = wanted(boxMeasures);
  const alone = wanted(ownMeasures);
  if (onStage.length + ofBox.length > 0) {
    for (const installed of await Promise.all(options.containerd.map(findRelease))) {
      const part: Part = { containerd: installed.version.text, figures: [] };
      if (onStage.length > 0) part.figures.push(...(await measureOn(installed, onStage, options)));
      part.figures.push(...(await takeFigures(ofBox, { ...options, installed })));
      yield part;
    }
  }
  if (alone.length > 0) yield { figures: await takeFigures(alone, options) };
}

async function measureOn(
  installed: InstalledContainerd,
  measures: [string, (typeof stageMeasures)[string]][],
  { runs, agents, podman }: BenchOptions,
): Promise<Summary[]> {
  const names = agents.map((command) => basename(command.split(' ')[0] ?? ''));
  const others = agents.map((command, index) => {
    const name = names[index] ?? '';
    return { name: names.indexOf(name) === index ? name : `${name} ${index + 1}`, command };
  });
  const logger = pino({ level: 'warn' }, pino.destination(2));
  const stage = await Stage.open(imageArchive, installed, logger);
  try {
    return await takeFigures(measures, { stage, agents: [ours, ...others], podman, runs });
  } finally {
    await stage.close();
  }
}

async function takeFigures<Setting extends object>(
  measures: [string, (bench: Setting & { figures: Figures }) => Promise<void>][],
  setting: Setting,
): Promise<Summary[]> {
  const figures = new Figures();
  for (const [name, measure] of measures) {
    process.stderr.write(`measuring: ${name}\n`);
    await compactMemory();
    await measure({ ...setting, figures });
  }
  return figures.summaries();
}

const measureNames = [stageMeasures, boxMeasures, ownMeasures].flatMap((measures) => Object.keys(measures));
try {
  const options = parseOptions(process.argv.slice(2), measureNames);
  if (options === 'help') process.stdout.write(usage);
  else await bench(options);
} catch (error) {
  if (!(error instanceof UserError)) throw error;
  process.stderr.write(`error: ${error.message}\n${error.hint === undefined ? '' : `hint: ${error.hint}\n`}`);
  process.exitCode = error.exitCode;
}
