import { expect, test } from 'vitest';
import { absentImages } from '../../../src/commands/validate/absent-images.ts';
import type { SourceUpdate } from '../../../src/engine/config/pod-source.ts';
import { UserError } from '../../../src/errors.ts';
import { makeContainer, makePod } from '../../builders/pods.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { FakeRuntime } from '../../fakes/fake-runtime.ts';

const pod = makePod({ spec: { containers: [makeContainer({ image: 'here:1' }), makeContainer({ image: 'app:1' })] } });
const update: SourceUpdate = { source: 'file', where: 'pods', pods: [pod], problems: [] };

test('each image that the runtime does not have is an error', async () => {
  const runtime = new FakeRuntime({ clock: new FakeClock() });
  runtime.addImage('docker.io/library/here:1');
  const connection = { runtime, images: runtime, listAllContainers: runtime.listContainers, close: () => undefined };
  expect(await absentImages(update, () => Promise.resolve(connection))).toEqual([
    {
      origin: 'pods',
      message: 'the container runtime has no image app:1, which pod default/web-node1 needs',
      hint: 'Load it from an archive: kubelet-ts images load FILE',
      severity: 'error',
    },
  ]);
});

test('without a runtime there is one warning', async () => {
  const connect = (): Promise<never> => Promise.reject(new UserError('no container runtime answers at unix:///x'));
  expect(await absentImages(update, connect)).toEqual([
    {
      origin: 'pods',
      message: 'the images were not checked: no container runtime answers at unix:///x',
      severity: 'warning',
    },
  ]);
});
