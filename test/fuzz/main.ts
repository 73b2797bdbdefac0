import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { loadCorpus } from './corpus.ts';
import { findFault, loadCase, makeCase } from './fuzz-case.ts';

/**
 * Loads very many broken manifests: none may throw, take long, or leave memory behind. `npm run fuzz -- --help` lists the
 * options; each case can be run alone by its seed and number.
 */
function main(): void {
  const { values } = parseArgs({
    options: {
      count: { type: 'string', default: '100000' },
      seed: { type: 'string', default: String(Date.now() % 1_000_000) },
      case: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    say('npm run fuzz -- [--count 100000] [--seed <number>] [--case <number>: that one only]');
    return;
  }
  const seed = Number(values.seed);
  const corpus = loadCorpus(new URL('../../', import.meta.url));
  const from = values.case === undefined ? 0 : Number(values.case);
  const to = values.case === undefined ? Number(values.count) : from + 1;
  const failed = fuzz(corpus, seed, from, to);
  process.exitCode = failed > 0 ? 1 : 0;
}

const maxMs = 100;
const maxGrowthMiB = 8;
const maxFailures = 20;

function fuzz(corpus: readonly string[], seed: number, from: number, to: number): number {
  say(`seed ${seed}, cases ${from} to ${to - 1}, corpus of ${corpus.length} manifests`);
  // The first cases warm up the machine code; the memory they take is not given back.
  for (let number = 0; number < 1000; number++) load(makeCase(corpus, 0, number));
  const before = heapUsed();
  const started = process.cpuUsage();
  const totals = { bytes: 0, pods: 0, failures: 0, slowest: { number: 0, ms: 0, bytes: 0 } };
  for (let number = from; number < to && totals.failures < maxFailures; number++) {
    const bytes = makeCase(corpus, seed, number);
    const outcome = load(bytes);
    totals.bytes += bytes.length;
    if (outcome.isPod) totals.pods++;
    if (outcome.ms > totals.slowest.ms) totals.slowest = { number, ms: outcome.ms, bytes: bytes.length };
    const fault = outcome.fault ?? (outcome.ms > maxMs ? `it took ${outcome.ms.toFixed(0)} ms` : undefined);
    if (fault === undefined) continue;
    totals.failures++;
    const file = `/tmp/fuzz-${seed}-${number}.manifest`;
    writeFileSync(file, bytes);
    say(`FAILED case ${number}: ${fault}\n  ${file}; again with --seed ${seed} --case ${number}`);
  }
  const { user, system } = process.cpuUsage(started);
  const { slowest } = totals;
  const growthMiB = (heapUsed() - before) / 2 ** 20;
  say(`${to - from} cases, ${(totals.bytes / 2 ** 20).toFixed(0)} MiB, ${totals.pods} of them pods`);
  say(`cpu ${((user + system) / 1e6).toFixed(1)} s in all`);
  say(`slowest ${slowest.ms.toFixed(1)} ms: case ${slowest.number}, ${slowest.bytes} bytes`);
  say(`heap ${growthMiB >= 0 ? '+' : ''}${growthMiB.toFixed(1)} MiB`);
  if (growthMiB > maxGrowthMiB) {
    say(`FAILED the heap grew by more than ${maxGrowthMiB} MiB`);
    return totals.failures + 1;
  }
  say(totals.failures === 0 ? 'all is well' : `${totals.failures} FAILED`);
  return totals.failures;
}

/** Other processes and the collector of garbage make a load look slow: the quickest of a few counts. */
function load(bytes: Uint8Array): { fault: string | undefined; isPod: boolean; ms: number } {
  let ms = Infinity;
  for (let attempt = 0; attempt < 4 && ms > maxMs / 2; attempt++) {
    const started = performance.now();
    try {
      const result = loadCase(bytes);
      ms = Math.min(ms, performance.now() - started);
      const fault = findFault(result, bytes);
      if (fault !== undefined || ms <= maxMs / 2) return { fault, isPod: result.pod !== undefined, ms };
    } catch (error) {
      return { fault: error instanceof Error ? String(error.stack) : String(error), isPod: false, ms: 0 };
    }
  }
  return { fault: undefined, isPod: false, ms };
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

function heapUsed(): number {
  if (!globalThis.gc) throw new Error('Run this with node --expose-gc');
  globalThis.gc();
  globalThis.gc();
  return process.memoryUsage().heapUsed;
}

main();
