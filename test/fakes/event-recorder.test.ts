import { expect, test } from 'vitest';
import { EventRecorder } from './event-recorder.ts';
import { FakeClock } from './fake-clock.ts';

const pod = { namespace: 'default', name: 'web-edge1', uid: 'u1' };
const other = { ...pod, name: 'db-edge1', uid: 'u2' };

test('hands out each event once, whether it came before or after the wait', async () => {
  const recorder = new EventRecorder(new FakeClock(7));
  recorder.emit({ type: 'SyncStarted', pod, state: 'sync' });
  const first = await recorder.waitFor('SyncStarted');
  const second = recorder.waitFor('SyncStarted', (event) => event.state === 'terminating');
  recorder.emit({ type: 'SyncStarted', pod: other, state: 'sync' });
  recorder.emit({ type: 'SyncStarted', pod, state: 'terminating' });
  expect([first, await second]).toEqual([
    { at: 7, type: 'SyncStarted', pod, state: 'sync' },
    { at: 7, type: 'SyncStarted', pod, state: 'terminating' },
  ]);
});

test('tells what happened to one pod in order', async () => {
  const recorder = new EventRecorder(new FakeClock());
  recorder.emit({ type: 'PodAdded', pod, source: 'file' });
  recorder.emit({ type: 'PodAdded', pod: other, source: 'file' });
  recorder.emit({ type: 'WorkerStateChanged', pod, state: 'sync' });
  recorder.emit({ type: 'Recorded', eventType: 'Normal', reason: 'Pulled', message: 'Container image is there', pod });
  recorder.emit({ type: 'ContainerStarted', pod, id: 'sandbox1' });
  recorder.emit({ type: 'ContainerStarted', pod, id: 'container2', containerName: 'main' });
  recorder.emit({ type: 'Recorded', eventType: 'Warning', reason: 'NetworkNotReady', message: 'no CNI' });
  await recorder.waitFor((event) => event.type === 'Recorded' && event.pod === undefined);
  expect(recorder.sequence('web-edge1')).toEqual([
    'PodAdded',
    'WorkerStateChanged sync',
    'Recorded Pulled',
    'ContainerStarted sandbox',
    'ContainerStarted main',
  ]);
});
