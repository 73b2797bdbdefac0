import { expect, test } from 'vitest';
import { cronEvents } from '../../../src/engine/workloads/job-events.ts';
import { CronWorld, makeCron } from './cron-world.ts';

test('a run that an operator requests in the second of a scheduled one has its own events', () => {
  const world = new CronWorld(makeCron(), '11-29T12:05:00');
  world.pass(5);
  const before = world.record;
  world.requests = [world.now];
  world.decide();
  const [scheduled, requested] = world.record?.runs ?? [];
  expect(scheduled?.scheduledAt).toBe(requested?.scheduledAt);
  expect(world.record && cronEvents(world.cron, before, world.record)).toEqual([
    {
      eventType: 'Normal',
      reason: 'SuccessfulCreate',
      message: `CronJob default/dump: Created job ${requested?.job.name ?? ''}`,
    },
  ]);
});
