import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { FakeCSIDriver } from '../fakes/fake-csi-driver.ts';
import { type Agent, startAgent } from './agent.ts';
import { mountsBelow } from './leftovers.ts';
import { makePod, serve, shell } from './manifests.ts';
import { untilLines } from './until-lines.ts';

let agent: Agent;
let driver: FakeCSIDriver;
let store: string;

beforeAll(async () => {
  agent = await startAgent();
  store = await mkdtemp('/tmp/kts-csi-');
  driver = new FakeCSIDriver(store);
});
afterAll(async () => {
  await agent.cleanUp();
  driver.crash();
  await rm(store, { recursive: true });
});

const declared = {
  apiVersion: 'v1',
  kind: 'List',
  items: [
    {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'CSIDriver',
      metadata: { name: 'csi.example.com' },
      spec: { volumeLifecycleModes: ['Persistent', 'Ephemeral'] },
    },
    {
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name: 'disk' },
      spec: {
        capacity: { storage: '1Gi' },
        accessModes: ['ReadWriteOnce'],
        csi: { driver: 'csi.example.com', volumeHandle: 'disk-1' },
      },
    },
    {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name: 'data' },
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
    },
  ],
};

const web = makePod('web', {
  volumes: [
    { name: 'data', persistentVolumeClaim: { claimName: 'data' } },
    { name: 'scratch', csi: { driver: 'csi.example.com' } },
  ],
  containers: [
    shell('main', `echo 1 > /data/row; echo 2 > /scratch/row; ${serve}`, {
      volumeMounts: [
        { name: 'data', mountPath: '/data' },
        { name: 'scratch', mountPath: '/scratch' },
      ],
    }),
  ],
});

test('a pod waits for its CSI driver, keeps its volumes when the driver and the agent die, and leaves none', async () => {
  const socket = join(agent.rootDir, 'plugins_registry', 'csi.sock');
  await agent.write('declared.json', declared);
  await agent.write('web.json', web);
  await agent.untilPod('web', ({ events }) =>
    events.some(
      (event) =>
        event.type === 'Recorded' &&
        event.reason === 'FailedMount' &&
        event.message.includes('driver name csi.example.com not found in the list of registered CSI drivers'),
    ),
  );
  await driver.listen(socket);
  await agent.untilReady('web');
  expect(await untilLines(join(driver.dataOf('disk-1'), 'row'), 1)).toEqual(['1']);
  const { id } = await agent.runningContainer('web');

  await driver.stop(socket);
  await agent.kill9();
  await agent.start();
  await agent.untilReady('web');
  expect((await agent.runningContainer('web')).id).toBe(id);

  await driver.listen(socket);
  await agent.remove('web.json');
  await agent.untilNoPods();
  expect(
    driver
      .takeCalls()
      .filter((call) => call.startsWith('node'))
      .toSorted(),
  ).toEqual([
    'nodePublishVolume',
    'nodePublishVolume',
    'nodeStageVolume',
    'nodeUnpublishVolume',
    'nodeUnpublishVolume',
    'nodeUnstageVolume',
  ]);
  expect(await mountsBelow(join(agent.rootDir, 'plugins'))).toEqual([]);
  expect(existsSync(join(driver.dataOf('disk-1'), 'row'))).toBe(true);
});

test('down unmounts the volumes of a driver that is away', async () => {
  const socket = join(agent.rootDir, 'plugins_registry', 'csi.sock');
  await agent.write('web.json', web);
  await agent.untilReady('web');
  expect((await mountsBelow(join(agent.rootDir, 'plugins'))).length).toBe(1);
  await driver.stop(socket);
  expect(await agent.down()).toEqual({
    code: 0,
    stdout: 'kubelet-ts stopped\npod default/web-edge1 removed\n',
    stderr: '',
  });
  expect(await mountsBelow(agent.rootDir)).toEqual([]);
});
