import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type CgroupSource, readCgroupSources } from '../../src/engine/stats/cgroup-sources.ts';
import type { Summary } from '../../src/engine/stats/summary.ts';
import type { PodSnapshot } from '../../src/engine/view/snapshot.ts';
import { fetchStats } from '../../src/server/control/control-client.ts';
import { controlSocketPath } from '../../src/server/control/socket-paths.ts';
import { type Agent, startAgent } from './agent.ts';
import { makePod, serve, shell } from './manifests.ts';

const mebibyte = 1024 ** 2;

let agent: Agent;
/** Files of the cgroup of container `app`. */
let files: { cpu: string; memory: string };

beforeAll(async () => {
  agent = await startAgent({
    manifests: {
      // Holds 24 MiB that the kernel cannot free.
      'large.yaml': makePod('large', {
        containers: [
          shell('app', `dd if=/dev/zero of=/dev/shm/held bs=1M count=24; touch /tmp/held; ${serve}`, {
            resources: { limits: { memory: '64Mi', cpu: '500m' } },
          }),
        ],
      }),
      'small.yaml': {
        ...makePod('small', { containers: [shell('a', serve), shell('b', serve)] }),
        metadata: { name: 'small', namespace: 'other', labels: { app: 'small' } },
      },
    },
  });
  await agent.untilReady('small');
  files = await cgroupFiles(await agent.untilReady('large'));
  // No probe, because each would use memory of the container while the tests measure it.
  const held = 'until [ -e /tmp/held ]; do sleep 0.1; done';
  expect(await agent.cli(['exec', 'large', '--', 'sh', '-c', held])).toEqual({ code: 0, stdout: '', stderr: '' });
});
afterAll(() => agent.cleanUp());

async function cgroupFiles({ pod: { metadata, status } }: PodSnapshot): Promise<typeof files> {
  const sources = await readCgroupSources();
  const id = status?.containerStatuses?.[0]?.containerID?.split('//')[1] ?? '';
  const fileIn = (source: CgroupSource | undefined, ...names: [v1: string, v2: string]): string => {
    if (source === undefined) throw new Error('this machine counts no CPU time or no memory in cgroups');
    return join(source.top, agent.cgroupRoot, 'kubepods', `pod${metadata.uid}`, id, names[source.version - 1] ?? '');
  };
  return {
    cpu: fileIn(sources.cpu, 'cpuacct.usage', 'cpu.stat'),
    memory: fileIn(sources.memory, 'memory.usage_in_bytes', 'memory.current'),
  };
}

/** CPU time of container `app` in nanoseconds. */
async function cpuNanos(): Promise<number> {
  const text = await readFile(files.cpu, 'utf8');
  const micros = /^usage_usec (\d+)$/m.exec(text)?.[1];
  return micros === undefined ? Number(text) : Number(micros) * 1000;
}

/** Statistics that are measured now. */
async function freshSummary(): Promise<Summary> {
  const summary = await fetchStats(controlSocketPath(agent.rootDir), { maxAgeMs: 0 });
  if (summary !== undefined) return summary;
  return JSON.parse((await agent.cli(['top', '-o', 'json'])).stdout) as Summary;
}

/** Output with every figure as 1, in lines of words. */
async function top(...words: string[]): Promise<string[][]> {
  const { code, stdout } = await agent.cli(['top', ...words]);
  expect(code).toBe(0);
  const lines = stdout.trimEnd().split('\n');
  return lines.map((line) => line.replace(/\b\d+(?=m\b|Mi\b|%)/g, '1').split(/\s+/));
}

describe.each(['with a running agent', 'without an agent'])('top %s', (condition) => {
  beforeAll(async () => {
    if (condition === 'without an agent') await agent.stop();
  });

  test('has the figures of the cgroup files', async () => {
    const before = await cpuNanos();
    const { pods } = await freshSummary();
    const after = await cpuNanos();
    const container = pods.find(({ podRef }) => podRef.name === 'large-edge1')?.containers[0];
    const measured = container?.cpu?.usageCoreNanoSeconds ?? 0;
    expect([measured >= before, measured <= after]).toEqual([true, true]);
    const { usageBytes = 0, workingSetBytes = 0, availableBytes = 0 } = container?.memory ?? {};
    expect(Math.abs(usageBytes - Number(await readFile(files.memory, 'utf8')))).toBeLessThan(mebibyte);
    expect(workingSetBytes).toBeGreaterThanOrEqual(24 * mebibyte);
    expect(workingSetBytes + availableBytes).toBe(64 * mebibyte);
  });

  test('shows pods, containers and the node', async () => {
    const small = ['other', 'small-edge1', '1m', '1Mi'];
    expect(await top()).toEqual([
      ['NAMESPACE', 'NAME', 'CPU(cores)', 'MEMORY(bytes)'],
      ['default', 'large-edge1', '1m', '1Mi'],
      small,
    ]);
    expect(await top('-l', 'app=small', '--no-headers')).toEqual([small]);
    expect(await top('small', '--containers')).toEqual([
      ['NAMESPACE', 'POD', 'NAME', 'CPU(cores)', 'MEMORY(bytes)'],
      ['other', 'small-edge1', 'a', '1m', '1Mi'],
      ['other', 'small-edge1', 'b', '1m', '1Mi'],
    ]);
    const [head, [, ...figures] = []] = await top('node');
    expect(head).toEqual(['NAME', 'CPU(cores)', 'CPU%', 'MEMORY(bytes)', 'MEMORY%']);
    expect(figures).toEqual(['1m', '1%', '1Mi', '1%']);
  });

  test('names a pod that does not run', async () => {
    expect(await agent.cli(['top', 'missing'])).toEqual({
      code: 1,
      stdout: '',
      stderr: 'error: no pod "missing" runs\nhint: Only running pods have usage. List all: kubelet-ts ps\n',
    });
  });
});
