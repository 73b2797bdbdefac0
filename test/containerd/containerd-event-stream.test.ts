import { expect, test } from 'vitest';
import { containerEvent } from '../../src/containerd/containerd-event-stream.ts';
import { ContainerDelete, TaskDelete } from '../../src/containerd/generated/containerd-events.ts';

const envelope = (typeUrl: string, value: Uint8Array): Parameters<typeof containerEvent>[0] => ({
  namespace: 'k8s.io',
  topic: '/any',
  event: { typeUrl, value: Buffer.from(value) },
});
const taskDelete = (containerId: string, id: string): Uint8Array => TaskDelete.encode({ containerId, id }).finish();

test.each([
  ['the exit of a container', 'containerd.events.TaskDelete', taskDelete('c1', ''), { id: 'c1', type: 'exited' }],
  ['the same, with its id', 'containerd.events.TaskDelete', taskDelete('c1', 'c1'), { id: 'c1', type: 'exited' }],
  ['the exit of a command in it', 'containerd.events.TaskDelete', taskDelete('c1', 'probe'), undefined],
  [
    'the removal of a container',
    'containerd.events.ContainerDelete',
    ContainerDelete.encode({ id: 'c1' }).finish(),
    { id: 'c1', type: 'removed' },
  ],
  ['something else', 'containerd.events.TaskStart', new Uint8Array(), undefined],
])('%s is told as what it is', (_what, typeUrl, value, event) => {
  expect(containerEvent(envelope(typeUrl, value))).toEqual(event);
});
