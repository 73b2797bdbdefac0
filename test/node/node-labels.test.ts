import { expect, it } from 'vitest';
import { nodeLabels } from '../../src/node/node-config.ts';

it('names the architecture as Go does, and takes what was configured last', () => {
  expect(nodeLabels('edge1', 'x64', { disk: 'ssd', 'kubernetes.io/hostname': 'roof' })).toEqual({
    'kubernetes.io/hostname': 'roof',
    'kubernetes.io/os': 'linux',
    'kubernetes.io/arch': 'amd64',
    'beta.kubernetes.io/os': 'linux',
    'beta.kubernetes.io/arch': 'amd64',
    disk: 'ssd',
  });
});
