import { expect, test } from 'vitest';
import { descriptionText } from '../../../src/commands/describe/description-text.ts';
import type { PodSnapshot } from '../../../src/engine/view/snapshot.ts';
import { makePod, NOW } from '../../builders/pods.ts';

test.each<[string, Pick<PodSnapshot, 'waitingUpdate' | 'outdatedContainers'>, string | undefined]>([
  ['is carried out', {}, undefined],
  ['waits', { waitingUpdate: { reason: 'OutOfcpu', message: 'no room' } }, 'waiting: OutOfcpu: no room'],
  ['is under way', { outdatedContainers: ['a', 'b'] }, 'containers with an earlier image or resources: a, b'],
])('the description has the newest manifest if it is not applied: it %s', async (_what, update, text) => {
  const pods = [{ pod: makePod(), ...update }];
  const description = await descriptionText({ namespace: 'default', name: 'web', pods, history: [] }, NOW);
  const lines = description.split('\n');
  expect(lines.find((line) => line.startsWith('Update'))?.replace(/^Update: +/, '')).toBe(text);
});
