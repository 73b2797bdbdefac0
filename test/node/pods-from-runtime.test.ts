import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { encodeRevision } from '../../src/engine/in-place/revision-file.ts';
import { podsFromRuntime } from '../../src/node/pods-from-runtime.ts';
import { makeContainer, makePod } from '../builders/pods.ts';
import { FakeClock } from '../fakes/fake-clock.ts';
import { FakeRuntime } from '../fakes/fake-runtime.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

describe('the pods of a runtime without an agent', () => {
  const clock = new FakeClock(Date.parse('2025-01-01T00:00:00Z'));

  async function runPod(runtime: FakeRuntime, name: string, exitCode?: number): Promise<void> {
    const labels = {
      'io.kubernetes.pod.name': name,
      'io.kubernetes.pod.namespace': 'default',
      'io.kubernetes.pod.uid': `uid-of-${name}`,
      'io.kubernetes.container.name': 'main',
    };
    const { podSandboxId } = await runtime.runPodSandbox({
      config: { metadata: { name, namespace: 'default', uid: `uid-of-${name}` }, labels },
    });
    const { containerId } = await runtime.createContainer({
      podSandboxId,
      config: {
        metadata: { name: 'main', attempt: 2 },
        image: { image: 'app:1' },
        labels,
        annotations: { 'io.kubernetes.container.restartCount': '2' },
      },
    });
    await runtime.startContainer({ containerId });
    if (exitCode !== undefined) runtime.exitContainer(containerId, exitCode);
  }

  test('are there with what the runtime knows of them, by name', async () => {
    const runtime = new FakeRuntime({ clock });
    runtime.addImage('app:1');
    await runPod(runtime, 'web-edge1');
    await runPod(runtime, 'db-edge1', 1);
    const pods = await podsFromRuntime(runtime, await temporaryFolder());
    expect(
      pods.map(({ metadata, status }) => ({
        name: `${metadata.namespace}/${metadata.name}`,
        phase: status?.phase,
        podIP: status?.podIP,
        startTime: status?.startTime,
        containers: status?.containerStatuses?.map(({ name, ready, restartCount, state }) => [
          name,
          ready,
          restartCount,
          ...Object.keys(state ?? {}),
        ]),
      })),
    ).toEqual([
      {
        name: 'default/db-edge1',
        phase: 'Running',
        podIP: '10.88.0.3',
        startTime: '2025-01-01T00:00:00.000Z',
        containers: [['main', false, 2, 'terminated']],
      },
      {
        name: 'default/web-edge1',
        phase: 'Running',
        podIP: '10.88.0.1',
        startTime: '2025-01-01T00:00:00.000Z',
        containers: [['main', true, 2, 'running']],
      },
    ]);
  });

  test('are as old, and ready for as long, as the last agent kept', async () => {
    const runtime = new FakeRuntime({ clock });
    runtime.addImage('app:1');
    await runPod(runtime, 'web-edge1');
    const rootDir = await temporaryFolder();
    const podDir = join(rootDir, 'pods', 'uid-of-web-edge1');
    await mkdir(podDir, { recursive: true });
    const ready = { type: 'Ready', status: 'True', lastTransitionTime: '2024-12-30T00:00:05Z' };
    const acknowledgedAt = Date.parse('2024-12-30T00:00:00.250Z');
    await writeFile(
      join(podDir, 'status.json'),
      JSON.stringify({ acknowledgedAt, conditions: [ready], containers: [] }),
    );
    const [pod] = await podsFromRuntime(runtime, rootDir);
    expect(pod?.status?.startTime).toBe('2024-12-30T00:00:00Z');
    expect(pod?.status?.conditions?.find(({ type }) => type === 'Ready')?.lastTransitionTime).toBe(
      ready.lastTransitionTime,
    );
  });

  test('are not Failed if a rule starts their container again', async () => {
    const runtime = new FakeRuntime({ clock });
    runtime.addImage('app:1');
    await runPod(runtime, 'task-edge1', 42);
    const rootDir = await temporaryFolder();
    const podDir = join(rootDir, 'pods', 'uid-of-task-edge1');
    await mkdir(podDir, { recursive: true });
    const restartPolicyRules = [{ action: 'Restart', exitCodes: { operator: 'In', values: [42] } }];
    const main = makeContainer({ name: 'main', restartPolicy: 'Never', restartPolicyRules });
    const pod = makePod({ spec: { restartPolicy: 'Never', containers: [main] } });
    await writeFile(join(podDir, 'revision.json'), encodeRevision({ pod, outdated: {}, isResizing: false }));
    expect((await podsFromRuntime(runtime, rootDir)).map(({ status }) => status?.phase)).toEqual(['Running']);
  });

  test.each([
    ['', 'empty'],
    ['{"acknowledgedAt":1e300}', 'beyond all times'],
    ['[]', 'a list'],
    ['x'.repeat(300_000), 'too large'],
  ])('are as old as their sandboxes when what was kept is of no use: %#', async (content) => {
    const runtime = new FakeRuntime({ clock });
    runtime.addImage('app:1');
    await runPod(runtime, 'web-edge1');
    const rootDir = await temporaryFolder();
    const podDir = join(rootDir, 'pods', 'uid-of-web-edge1');
    await mkdir(podDir, { recursive: true });
    await writeFile(join(podDir, 'status.json'), content);
    const [pod] = await podsFromRuntime(runtime, rootDir);
    expect(pod?.status?.startTime).toBe('2025-01-01T00:00:00.000Z');
  });

  test('are none in an empty runtime', async () => {
    expect(await podsFromRuntime(new FakeRuntime({ clock }), await temporaryFolder())).toEqual([]);
  });
});
