import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { getHeapStatistics } from 'node:v8';
import { loadCorpus } from './corpus.ts';
import { findFault, findFaultOfFirst, loadCase, makeCase } from './fuzz-case.ts';
import { hostileTexts } from './hostile-texts.ts';

const usage = `npm run fuzz -- [options]
  --count N          how many cases (default 100000)
  --seed N           other cases
  --case N           that one only
  --hostile          texts of 1 and of 10 MiB that ask for as much work as they can, in place of cases
`;

/** Loads very many broken manifests: none may throw, take long, or leave memory behind. */
function main(): void {
  const { values } = parseArgs({
    options: {
      count: { type: 'string', default: '100000' },
      seed: { type: 'string', default: String(Date.now() % 1_000_000) },
      case: { type: 'string' },
      hostile: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(usage);
    return;
  }
  const corpus = loadCorpus(new URL('../../', import.meta.url));
  const from = Number(values.case ?? 0);
  const to = values.case === undefined ? Number(values.count) : from + 1;
  const failures = values.hostile ? loadHostile() : fuzz(corpus, Number(values.seed), from, to);
  say(failures === 0 ? 'all is well' : `${failures} FAILED`);
  process.exitCode = failures > 0 ? 1 : 0;
}

/** A slower load is told, and is no failure: other work on the machine alone can make it one. */
const maxMs = 100;
const maxHostileMs = 5000;
const maxGrowthMiB = 8;
const maxFailures = 20;
/** After so many cases, the lowest heap among them is printed. */
const batch = 5000;

function fuzz(corpus: readonly string[], seed: number, from: number, to: number): number {
  say(`seed ${seed}, cases ${from} to ${to - 1}, corpus of ${corpus.length} manifests`);
  // The first cases warm up the machine code; the memory they take is not given back.
  for (let number = 0; number < 1000; number++) load(makeCase(corpus, 0, number));
  const heap: number[] = [];
  let lowestMiB = Infinity;
  const started = process.cpuUsage();
  const totals = { bytes: 0, declaring: 0, failures: 0, slowest: { number: 0, ms: 0, bytes: 0 } };
  for (let number = from; number < to && totals.failures < maxFailures; number++) {
    const bytes = makeCase(corpus, seed, number);
    const outcome = load(bytes);
    // The heap is lowest right after the collector has run, which it does many times in a batch.
    lowestMiB = Math.min(lowestMiB, heapMiB());
    totals.bytes += bytes.length;
    if (outcome.isDeclaring) totals.declaring++;
    if (outcome.ms > totals.slowest.ms) totals.slowest = { number, ms: outcome.ms, bytes: bytes.length };
    if ((number - from + 1) % batch === 0) {
      heap.push(lowestMiB);
      lowestMiB = Infinity;
      say(
        `${number - from + 1} cases: heap ${heap.at(-1)?.toFixed(1)} MiB, slowest ${totals.slowest.ms.toFixed(0)} ms of CPU`,
      );
    }
    if (outcome.ms > maxMs) say(`SLOW case ${number}: ${outcome.ms.toFixed(0)} ms of CPU, ${bytes.length} bytes`);
    if (outcome.fault === undefined) continue;
    totals.failures++;
    const file = `/tmp/fuzz-${seed}-${number}.manifest`;
    writeFileSync(file, bytes);
    say(`FAILED case ${number}: ${outcome.fault}\n  ${file}; again with --seed ${seed} --case ${number}`);
  }
  const { slowest } = totals;
  say(`${to - from} cases, ${(totals.bytes / 2 ** 20).toFixed(0)} MiB, ${totals.declaring} of them good`);
  say(`cpu ${(cpuMs(started) / 1000).toFixed(1)} s in all`);
  say(`slowest ${slowest.ms.toFixed(1)} ms of CPU: case ${slowest.number}, ${slowest.bytes} bytes`);
  say(`lowest heap in MiB, every ${batch} cases: ${heap.map((mebibytes) => mebibytes.toFixed(1)).join(' ')}`);
  if ((heap.at(-1) ?? 0) - (heap[0] ?? 0) <= maxGrowthMiB) return totals.failures;
  say(`FAILED the heap grew by more than ${maxGrowthMiB} MiB`);
  return totals.failures + 1;
}

function loadHostile(): number {
  let failures = 0;
  for (const [what, make] of Object.entries(hostileTexts)) {
    // The larger ones may be refused for their many lines, the smaller ones are read.
    for (const size of [2 ** 20, 10 * 2 ** 20]) {
      const bytes = Buffer.from(make(size - 2000)).subarray(0, size);
      const { fault, ms, problem } = load(bytes, maxHostileMs);
      const failure = fault ?? (ms > maxHostileMs ? 'it took too long' : undefined);
      if (failure !== undefined) failures++;
      const told = `${what}, ${(bytes.length / 2 ** 20).toFixed(1)} MiB: ${problem.slice(0, 70)}`;
      say(`${ms.toFixed(0).padStart(6)} ms  ${failure === undefined ? '' : `FAILED ${failure}: `}${told}`);
    }
  }
  return failures;
}

interface Outcome {
  fault: string | undefined;
  isDeclaring: boolean;
  ms: number;
  problem: string;
}

/** The collector of garbage and the compiler make a load look slow: the quickest of a few counts. */
function load(bytes: Uint8Array, enoughMs = maxMs / 2): Outcome {
  let ms = Infinity;
  let outcome: Omit<Outcome, 'ms'> = { fault: undefined, isDeclaring: false, problem: '' };
  for (let attempt = 0; attempt < 4 && ms > enoughMs; attempt++) {
    const started = process.cpuUsage();
    try {
      const manifests = loadCase(bytes);
      ms = Math.min(ms, cpuMs(started));
      const { pods, configObjects, problems } = manifests;
      outcome = {
        fault: findFault(manifests, bytes) ?? (bytes.length % 8 === 0 ? findFaultOfFirst(bytes) : undefined),
        isDeclaring: pods.length + configObjects.length > 0 && !problems.some(({ severity }) => severity === 'error'),
        problem: problems[0]?.message ?? '',
      };
    } catch (error) {
      const fault = error instanceof Error ? String(error.stack) : String(error);
      return { fault, isDeclaring: false, ms: 0, problem: '' };
    }
  }
  return { ...outcome, ms };
}

function cpuMs(from: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(from);
  return (user + system) / 1000;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

function heapMiB(): number {
  return getHeapStatistics().used_heap_size / 2 ** 20;
}

main();
