import { expect, test } from 'vitest';
import { defaultConfiguration } from '../../builders/default-configuration.ts';
import { ApiRig } from './api-rig.ts';

test('lists of objects show numbers that are 0, and amounts as Kubernetes writes them', async () => {
  const lists = {
    shutdownGracePeriodByPodPriority: [{ priority: 0, shutdownGracePeriodSeconds: 0 }],
    reservedMemory: [{ numaNode: 0, limits: { memory: '1024Mi', 'hugepages-2Mi': '1.5Gi' } }],
    registerWithTaints: [{ key: 'dedicated', value: '', effect: 'NoSchedule' }],
  };
  const rig = await ApiRig.open({ configuration: { ...defaultConfiguration, ...lists } });
  const answer = await rig.short('GET /configz', { client: await rig.authority.issue('carol') });
  const { kubeletconfig } = JSON.parse(answer.replace(/^200 /, '')) as { kubeletconfig: Record<string, unknown> };
  expect(Object.fromEntries(Object.keys(lists).map((name) => [name, kubeletconfig[name]]))).toEqual({
    ...lists,
    reservedMemory: [{ numaNode: 0, limits: { memory: '1Gi', 'hugepages-2Mi': '1536Mi' } }],
    registerWithTaints: [{ key: 'dedicated', effect: 'NoSchedule' }],
  });
});
