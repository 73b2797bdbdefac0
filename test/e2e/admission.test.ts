import { cpus } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Agent, startAgent } from './agent.ts';
import { makePod, serve, shell } from './manifests.ts';

/** More than half of this machine's processors. */
const most = { requests: { cpu: `${cpus().length * 600}m` } };

test('a pod that finds no room starts by itself when another one has gone', async () => {
  const agent = await startAgent();
  try {
    await agent.write('a.yaml', makePod('first', { containers: [shell('app', serve, { resources: most })] }));
    await agent.untilReady('first');
    await agent.write('b.yaml', makePod('second', { containers: [shell('app', serve, { resources: most })] }));
    const { pod } = await agent.untilPod('second', (entry) => entry.rejection !== undefined);
    expect(pod.status).toMatchObject({ phase: 'Failed', reason: 'UnexpectedAdmissionError' });
    expect(pod.status?.message).toMatch(/It is tried again as soon as a pod ends\.$/);
    await agent.remove('a.yaml');
    await agent.untilReady('second');
  } finally {
    await agent.cleanUp();
  }
});

test('run-once runs jobs that do not fit side by side one after the other', async () => {
  const agent = await Agent.create();
  try {
    for (const name of ['one', 'two', 'three']) {
      const containers = [shell('app', 'sleep 0.2', { resources: most })];
      await agent.write(`${name}.yaml`, makePod(name, { restartPolicy: 'Never', containers }));
    }
    const result = await agent.cli(['run-once', '--rm', join(agent.manifestsFolder)]);
    expect(result).toMatchObject({ code: 0 });
    const results = result.stderr.split('\n').filter((line) => line.startsWith('default/'));
    expect(results.map((line) => line.split(/ +/).slice(0, 3)).toSorted()).toEqual(
      ['one', 'three', 'two'].map((name) => [`default/${name}-edge1`, 'completed', '0']),
    );
  } finally {
    await agent.cleanUp();
  }
});
