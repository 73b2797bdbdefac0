import { Session, type HeapProfiler, type Profiler } from 'node:inspector';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { PprofStacks } from './pprof-stacks.ts';

/**
 * A compressed profile of this process in pprof format. `profile` covers the CPU over this time, `heap` and `allocs`
 * the memory that was allocated in it and is still used. Others are empty, because Node does not have them. Rejects if
 * the signal is aborted.
 */
export async function captureProfile(name: string, periodMs: number, signal: AbortSignal): Promise<Buffer> {
  const stacks = await captureStacks(name, periodMs, signal);
  return promisify(gzip)(stacks.encode());
}

async function captureStacks(name: string, periodMs: number, signal: AbortSignal): Promise<PprofStacks> {
  const session = new Session();
  session.connect();
  try {
    if (name === 'profile' || name === 'trace') return cpuStacks(await captureCPU(session, periodMs, signal));
    if (name === 'heap' || name === 'allocs') return heapStacks(await captureHeap(session, periodMs, signal));
    return new PprofStacks([[name, 'count']], 0);
  } finally {
    session.disconnect();
  }
}

async function captureCPU(session: Session, periodMs: number, signal: AbortSignal): Promise<Profiler.Profile> {
  await post(session, 'Profiler.enable');
  await post(session, 'Profiler.start');
  await delay(periodMs, undefined, { signal, ref: false });
  return (await post<{ profile: Profiler.Profile }>(session, 'Profiler.stop')).profile;
}

async function captureHeap(
  session: Session,
  periodMs: number,
  signal: AbortSignal,
): Promise<HeapProfiler.SamplingHeapProfile> {
  await post(session, 'HeapProfiler.startSampling');
  await delay(periodMs, undefined, { signal, ref: false });
  return (await post<{ profile: HeapProfiler.SamplingHeapProfile }>(session, 'HeapProfiler.stopSampling')).profile;
}

function post<T>(session: Session, method: string): Promise<T> {
  return new Promise((resolve, reject) => {
    session.post(method, (error, result) => {
      if (error) reject(error);
      else resolve(result as T);
    });
  });
}

/** Each sample stands for the time since the previous one. */
function cpuStacks({ nodes, samples = [], timeDeltas = [], startTime, endTime }: Profiler.Profile): PprofStacks {
  const stacks = new PprofStacks(
    [
      ['samples', 'count'],
      ['cpu', 'nanoseconds'],
    ],
    (endTime - startTime) * 1000,
  );
  const byID = new Map(nodes.map((node) => [node.id, node]));
  const parents = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id] as const)));
  const values = new Map<number, [number, number]>();
  for (const [index, id] of samples.entries()) {
    const [count, nanoseconds] = values.get(id) ?? [0, 0];
    values.set(id, [count + 1, nanoseconds + Math.max(0, timeDeltas[index] ?? 0) * 1000]);
  }
  for (const [id, value] of values) {
    const frames = [];
    for (let at: number | undefined = id; at !== undefined; at = parents.get(at)) {
      const node = byID.get(at);
      if (node !== undefined && parents.has(at)) frames.push(node.callFrame);
    }
    stacks.add(frames, value);
  }
  return stacks;
}

function heapStacks({ head }: HeapProfiler.SamplingHeapProfile): PprofStacks {
  const stacks = new PprofStacks([['inuse_space', 'bytes']], 0);
  const visit = (node: HeapProfiler.SamplingHeapProfileNode, callers: HeapProfiler.SamplingHeapProfileNode[]): void => {
    const frames = [node, ...callers];
    if (node.selfSize > 0) {
      stacks.add(
        frames.map(({ callFrame }) => callFrame),
        [node.selfSize],
      );
    }
    for (const child of node.children) visit(child, frames);
  };
  visit(head, []);
  return stacks;
}
