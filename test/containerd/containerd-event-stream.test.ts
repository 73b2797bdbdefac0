import { describe, expect, test } from 'vitest';
import { containerEventReader } from '../../src/containerd/containerd-event-stream.ts';
import { ContainerDelete, TaskDelete, TaskOOM } from '../../src/containerd/generated/containerd-events.ts';

type Envelope = Parameters<ReturnType<typeof containerEventReader>>[0];

const envelope = (typeUrl: string, value: Uint8Array): Envelope => ({
  namespace: 'k8s.io',
  topic: '/any',
  event: { typeUrl, value: Buffer.from(value) },
});
const exitedAt = new Date('2025-01-01T00:00:00.123Z');
const finishedAt = exitedAt.getTime();
const taskDelete = (message: Parameters<typeof TaskDelete.fromPartial>[0]): Envelope =>
  envelope('containerd.events.TaskDelete', TaskDelete.encode(TaskDelete.fromPartial(message)).finish());
const outOfMemory = (containerId: string): Envelope =>
  envelope('containerd.events.TaskOOM', TaskOOM.encode({ containerId }).finish());

test.each([
  [
    'the end of a container',
    taskDelete({ containerId: 'c1', exitedAt }),
    { id: 'c1', type: 'exited', end: { exitCode: 0, finishedAt, reason: 'Completed' } },
  ],
  [
    'the same, with its id',
    taskDelete({ containerId: 'c1', id: 'c1', exitedAt, exitStatus: 137 }),
    { id: 'c1', type: 'exited', end: { exitCode: 137, finishedAt, reason: 'Error' } },
  ],
  ['an end of which nothing is told', taskDelete({ containerId: 'c1' }), { id: 'c1', type: 'exited' }],
  ['the end of a command in it', taskDelete({ containerId: 'c1', id: 'probe', exitedAt }), undefined],
  [
    'the removal of a container',
    envelope('containerd.events.ContainerDelete', ContainerDelete.encode({ id: 'c1' }).finish()),
    { id: 'c1', type: 'removed' },
  ],
  ['a kill for lack of memory', outOfMemory('c1'), { id: 'c1', type: 'outOfMemory' }],
  ['something else', envelope('containerd.events.TaskStart', new Uint8Array()), undefined],
])('%s is classified', (_what, told, event) => {
  expect(containerEventReader()(told)).toEqual(event);
});

describe('memory that ran out', () => {
  test('is the reason of the end, once', () => {
    const read = containerEventReader();
    const reasons = [
      outOfMemory('c1'),
      ...['c2', 'c1', 'c1'].map((id) => taskDelete({ containerId: id, exitedAt })),
    ].map((told) => read(told)?.end?.reason);
    expect(reasons).toEqual([undefined, 'Completed', 'OOMKilled', 'Completed']);
  });

  test('for a command in a container is the reason when the container ends', () => {
    const read = containerEventReader();
    read(outOfMemory('c1'));
    read(taskDelete({ containerId: 'c1', id: 'probe', exitedAt }));
    expect(read(taskDelete({ containerId: 'c1', exitedAt, exitStatus: 1 }))?.end?.reason).toBe('OOMKilled');
  });
});
