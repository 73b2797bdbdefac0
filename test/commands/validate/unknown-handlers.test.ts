import { expect, test } from 'vitest';
import { unknownHandlers } from '../../../src/commands/validate/unknown-handlers.ts';
import { makePod } from '../../builders/pods.ts';

const classOf = (name: string, handler: string) => ({ kind: 'RuntimeClass', name, handler }) as const;

test('a handler that the managed containerd does not have is a warning at the class of the pod', () => {
  const podOf = (uid: string, runtimeClassName?: string) =>
    makePod({ metadata: { uid }, spec: { ...(runtimeClassName !== undefined && { runtimeClassName }) } });
  expect(
    unknownHandlers(
      {
        where: '/m',
        pods: [podOf('u1', 'gpu'), podOf('u2', 'plain'), podOf('u3'), podOf('u4', 'undeclared'), podOf('u5', 'stub')],
        configObjects: [classOf('gpu', 'nvidia'), classOf('plain', 'runc'), classOf('stub', 'stub')],
        classPositions: [{ podUID: 'u1', field: 'spec.runtimeClassName', origin: '/m/gpu.yaml', line: 4, column: 3 }],
      },
      ['runc', 'stub'],
    ),
  ).toEqual([
    {
      origin: '/m/gpu.yaml',
      line: 4,
      column: 3,
      field: 'spec.runtimeClassName',
      message: 'the managed containerd has no handler "nvidia": the pod cannot start',
      hint: 'Add it in a file in containerd/conf.d of the root-dir, or correct the handler of the class.',
      severity: 'warning',
    },
  ]);
});
