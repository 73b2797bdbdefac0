import { closeSync, openSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { Sample } from '../../../src/server/metrics/family.ts';
import { ProcessMetrics } from '../../../src/server/metrics/process-metrics.ts';

const samplesOf = async (metrics: ProcessMetrics, name: string): Promise<Sample[]> =>
  (await metrics.families()).flatMap((family) => (family.name === name ? [...family.samples] : []));

test('a process shows its CPU time, memory, files and heap', async () => {
  const families = await new ProcessMetrics().families();
  expect(families.map(({ name, type }) => `${name} ${type}`)).toEqual([
    'process_virtual_memory_max_bytes gauge',
    'process_cpu_user_seconds_total counter',
    'process_cpu_system_seconds_total counter',
    'process_cpu_seconds_total counter',
    'process_start_time_seconds gauge',
    'process_resident_memory_bytes gauge',
    'process_virtual_memory_bytes gauge',
    'process_heap_bytes gauge',
    'process_open_fds gauge',
    'process_max_fds gauge',
    'nodejs_eventloop_lag_seconds gauge',
    'nodejs_active_resources gauge',
    'nodejs_heap_size_total_bytes gauge',
    'nodejs_heap_size_used_bytes gauge',
    'nodejs_external_memory_bytes gauge',
    'nodejs_heap_space_size_total_bytes gauge',
    'nodejs_heap_space_size_used_bytes gauge',
    'nodejs_heap_space_size_available_bytes gauge',
    'nodejs_version_info gauge',
    'nodejs_gc_duration_seconds histogram',
  ]);
  // Garbage may not have been collected yet.
  const others = families.slice(0, -1).flatMap(({ samples }) => [...samples].map(({ value }) => value >= 0));
  expect(others).toEqual(others.map(() => true));
  expect(others.length).toBeGreaterThanOrEqual(families.length - 1);
});

test('files count while they are open', async () => {
  const metrics = new ProcessMetrics();
  const countOf = async (): Promise<number> => (await samplesOf(metrics, 'process_open_fds'))[0]?.value ?? 0;
  const before = await countOf();
  const files = Array.from({ length: 500 }, () => openSync('/dev/null', 'r'));
  const during = await countOf();
  for (const file of files) closeSync(file);
  // In hundreds, because the test runner has files too.
  expect([during, await countOf()].map((count) => Math.round((count - before) / 100))).toEqual([5, 0]);
});
