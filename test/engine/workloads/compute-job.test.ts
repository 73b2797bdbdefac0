import { describe, expect, test } from 'vitest';
import type { JobRules } from '../../../src/api/values/job.ts';
import { JobWorld, makeJob } from './job-world.ts';

test('a Job of one pod runs it under the UID of the manifest', () => {
  const world = new JobWorld(makeJob());
  expect(world.decision?.pods.map((id) => world.uid(id))).toEqual(['a0'.repeat(16)]);
  world.succeed(0);
  world.decide(5);
  expect(world.outcome()).toBe('Complete CompletionsReached');
  expect(world.seen('Succeeded')).toEqual(['0']);
  expect(world.decide(3600)).toMatchObject({ pods: [{ slot: 0, attempt: 0 }] });
  expect(world.decision?.nextMs).toBeUndefined();
});

test('done is done, even if the pod and all that the runtime had are lost', () => {
  const world = new JobWorld(makeJob());
  world.succeed(0);
  world.decide();
  world.statuses.clear();
  expect(world.decide(60).record.outcome?.result).toBe('Complete');
});

test('three completions run two at a time', () => {
  const world = new JobWorld(makeJob({ completions: 3, parallelism: 2 }));
  expect(world.running()).toEqual(['0', '1']);
  world.succeed(1);
  world.decide();
  expect(world.running()).toEqual(['0', '2']);
  world.succeed(0);
  world.decide();
  expect(world.running()).toEqual(['2']);
  world.succeed(2);
  world.decide();
  expect(world.outcome()).toBe('Complete CompletionsReached');
  expect(world.seen('Succeeded')).toEqual(['0', '1', '2']);
});

test('a failed pod is replaced after 10 s, 20 s and so on, until the limit', () => {
  const world = new JobWorld(makeJob({ backoffLimit: 2 }));
  world.fail(0);
  expect(world.decide()).toMatchObject({ nextMs: 10_000, retryMs: 10_000 });
  expect(world.seen('Failed')).toEqual(['0']);
  world.decide(9);
  expect(world.running()).toEqual([]);
  expect(world.decide(1).retryMs).toBeUndefined();
  expect(world.running()).toEqual(['0#1']);
  world.fail(0);
  expect(world.decide().nextMs).toBe(20_000);
  world.decide(20);
  expect(world.running()).toEqual(['0#2']);
  world.fail(0);
  world.decide();
  expect(world.outcome()).toBe('Failed BackoffLimitExceeded');
  expect(world.record).toMatchObject({ failed: 3 });
  expect(world.seen('Failed')).toEqual(['0#2']);
});

test('the back-off reaches ten minutes', () => {
  const world = new JobWorld(makeJob({ backoffLimit: 20 }));
  const waits = Array.from({ length: 9 }, () => {
    world.fail(0);
    const wait = (world.decide().nextMs ?? 0) / 1000;
    world.decide(wait);
    return wait;
  });
  expect(waits).toEqual([10, 20, 40, 80, 160, 320, 600, 600, 600]);
});

test('a success ends the back-off of the others', () => {
  const world = new JobWorld(makeJob({ completions: 3, parallelism: 2 }));
  world.fail(0);
  world.decide();
  expect(world.running()).toEqual(['1']);
  world.succeed(1);
  world.decide(1);
  expect(world.running()).toEqual(['0#1', '2']);
});

test('pods that share a queue: none starts after the first success', () => {
  const queue = makeJob({ parallelism: 3 });
  delete queue.rules.completions;
  const world = new JobWorld(queue);
  expect(world.running()).toEqual(['0', '1', '2']);
  world.succeed(1);
  world.decide();
  expect(world.running()).toEqual(['0', '2']);
  world.fail(0);
  world.decide(60);
  expect(world.running()).toEqual(['2']);
  world.succeed(2);
  world.decide();
  expect(world.outcome()).toBe('Complete CompletionsReached');
});

test('restarted containers count against the limit', () => {
  const world = new JobWorld(makeJob({ backoffLimit: 2 }, 'OnFailure'));
  const restarted = (restartCount: number): void => {
    const main = { name: 'main', image: '', imageID: '', ready: false, restartCount };
    world.end(0, { phase: 'Running', containerStatuses: [main] });
    world.decide();
  };
  restarted(1);
  expect(world.outcome()).toBeUndefined();
  restarted(2);
  expect(world.outcome()).toBe('Failed BackoffLimitExceeded (stopping)');
  world.decide();
  expect(world.outcome()).toBe('Failed BackoffLimitExceeded');
});

test('a Job that is active for too long stops its pods, and fails when they have stopped', () => {
  const world = new JobWorld(makeJob({ completions: 2, parallelism: 2, activeDeadlineSeconds: 60 }));
  expect(world.decision?.nextMs).toBe(60_000);
  world.stoppingSlowly = true;
  world.decide(60);
  expect(world.outcome()).toBe('Failed DeadlineExceeded (stopping)');
  expect(world.decision?.pods).toEqual([]);
  world.stopped();
  world.decide(5);
  expect(world.outcome()).toBe('Failed DeadlineExceeded');
});

test('a suspended Job stops its pods; they do not count as failures, and its deadline begins again', () => {
  const world = new JobWorld(makeJob({ completions: 2, activeDeadlineSeconds: 100 }));
  const suspend = (isSuspended: boolean): void => {
    world.job = { ...world.job, rules: { ...world.job.rules, isSuspended } };
  };
  suspend(true);
  world.decide(90);
  expect(world.decision?.pods).toEqual([]);
  expect(world.record).toMatchObject({ failed: 0, suspendedAt: world.now });
  suspend(false);
  world.decide(3600);
  expect(world.running()).toEqual(['0#1']);
  expect(world.decision?.nextMs).toBe(100_000);
  world.decide(99);
  expect(world.outcome()).toBeUndefined();
});

test('fewer pods at a time stop the last ones', () => {
  const world = new JobWorld(makeJob({ completions: 5, parallelism: 3 }));
  world.job = { ...world.job, rules: { ...world.job.rules, parallelism: 1 } };
  world.decide();
  expect(world.running()).toEqual(['0']);
  world.succeed(0);
  world.decide();
  expect(world.running()).toEqual(['1#1']);
});

test('a finished Job keeps its pods until its time to live is over', () => {
  const world = new JobWorld(makeJob({ ttlSecondsAfterFinished: 30 }));
  world.succeed(0);
  expect(world.decide().nextMs).toBe(30_000);
  expect(world.decide(29).pods).toHaveLength(1);
  expect(world.decide(1).pods).toEqual([]);
  expect(world.outcome()).toBe('Complete CompletionsReached');
});

test('the same template from another place is the same Job, and another one begins again', () => {
  const world = new JobWorld(makeJob({ completions: 2 }));
  const declareAs = (metadata: { uid: string; labels?: Record<string, string> }): void => {
    const { template } = world.job;
    world.job = { ...world.job, template: { ...template, metadata: { ...template.metadata, ...metadata } } };
  };
  world.succeed(0);
  world.decide();
  declareAs({ uid: 'b1' });
  world.decide();
  expect(world.running()).toEqual(['1']);
  world.succeed(1);
  world.decide();
  expect(world.outcome()).toBe('Complete CompletionsReached');
  declareAs({ uid: 'c2', labels: { release: 'two' } });
  world.decide();
  expect(world.outcome()).toBeUndefined();
  expect(world.running()).toEqual(['0']);
});

describe('changed rules run no index again', () => {
  const change = (world: JobWorld, more: Partial<JobRules>): void => {
    world.job = { ...world.job, rules: { ...world.job.rules, ...more } };
    world.decide();
  };

  test.each([true, false])('that has succeeded, when completions cross 1 (indexed: %s)', (isIndexed) => {
    const world = new JobWorld(makeJob({ isIndexed }));
    world.succeed(0);
    world.decide();
    change(world, { completions: 3, parallelism: 3 });
    expect([world.outcome(), world.seen('Succeeded'), world.running()]).toEqual([undefined, ['0'], ['1', '2']]);
    change(world, { completions: 1, parallelism: 1 });
    world.decide();
    expect([world.outcome(), world.seen('Succeeded'), world.running()]).toEqual([
      'Complete CompletionsReached',
      ['0'],
      [],
    ]);
    change(world, { completions: 2 });
    expect([world.outcome(), world.running()]).toEqual([undefined, ['1#1']]);
    world.succeed(1);
    world.decide();
    expect([world.outcome(), world.seen('Succeeded')]).toEqual(['Complete CompletionsReached', ['0', '1#1']]);
  });

  test('that runs, when completions cross 1', () => {
    const world = new JobWorld(makeJob({ isIndexed: true }));
    change(world, { completions: 3, parallelism: 2 });
    expect(world.running()).toEqual(['0', '1']);
    change(world, { completions: 1 });
    expect(world.running()).toEqual(['0']);
  });

  test('that has succeeded, when a queue gets more pods', () => {
    const world = new JobWorld(makeJob());
    delete world.job.rules.completions;
    world.succeed(0);
    world.decide();
    change(world, { parallelism: 2 });
    expect([world.outcome(), world.running()]).toEqual(['Complete CompletionsReached', []]);
  });

  test('if pods of any number were enough', () => {
    const world = new JobWorld(makeJob({ parallelism: 2 }));
    delete world.job.rules.completions;
    world.decide();
    world.succeed(1);
    world.decide();
    world.fail(0);
    world.decide();
    change(world, { completions: 1, parallelism: 1 });
    world.decide(600);
    expect([world.outcome(), world.running()]).toEqual(['Complete CompletionsReached', []]);
  });

  test('but stop those beyond the completions, even if one below waits for its back-off', () => {
    const world = new JobWorld(makeJob({ completions: 3, parallelism: 3, isIndexed: true }));
    world.fail(0);
    world.decide();
    change(world, { completions: 1 });
    expect(world.running()).toEqual([]);
    world.decide(10);
    expect(world.running()).toEqual(['0#1']);
  });

  test.each(['single', 'indexed'] as const)('of a record with the names %s of an earlier version', (names) => {
    const world = new JobWorld(makeJob({ isIndexed: names === 'indexed' }));
    if (world.record !== undefined) world.record.names = names;
    expect(world.decide(10).pods).toEqual([{ slot: 0, attempt: 0 }]);
    world.succeed(0);
    world.decide();
    world.decide(10);
    expect([world.outcome(), world.seen('Succeeded')]).toEqual(['Complete CompletionsReached', ['0']]);
  });
});

describe('a finished pod that an operator runs again', () => {
  test('reopens its Job until it has ended', () => {
    const world = new JobWorld(makeJob({ completions: 3, parallelism: 3, isIndexed: true }));
    world.succeed(0, 1, 2);
    world.decide();
    world.retry(1);
    world.decide(10);
    expect([world.outcome(), world.running(), world.record?.succeeded]).toEqual([
      undefined,
      ['1'],
      [
        [0, 0],
        [2, 2],
      ],
    ]);
    world.succeed(1);
    world.decide(10);
    expect([world.outcome(), world.running()]).toEqual(['Complete CompletionsReached', []]);
    expect(world.record?.finishedAt).toBe(world.now);
  });

  test('that failed has all its attempts again, and no other pod starts meanwhile', () => {
    const world = new JobWorld(makeJob({ completions: 2, parallelism: 2, backoffLimit: 1 }));
    world.fail(0);
    world.decide();
    world.decide(10);
    world.fail(0);
    world.decide();
    world.decide();
    expect(world.outcome()).toBe('Failed BackoffLimitExceeded');
    world.retry(0);
    world.decide(1000);
    expect([world.outcome(), world.running(), world.record?.failed]).toEqual([undefined, ['0#1'], 0]);
    world.fail(0);
    world.decide();
    expect([world.outcome(), world.running(), world.record?.failed]).toEqual([undefined, [], 1]);
    world.decide(10);
    expect(world.running()).toEqual(['0#2', '1#1']);
    world.succeed(0, 1);
    world.decide();
    expect(world.outcome()).toBe('Complete CompletionsReached');
  });

  test('does not change what others decided', () => {
    const world = new JobWorld(
      makeJob({ completions: 2, parallelism: 2, isIndexed: true, successPolicy: [{ indexes: [[0, 0]] }] }),
    );
    world.succeed(0, 1);
    world.decide();
    world.retry(1);
    world.decide(10);
    expect([world.outcome(), world.running()]).toEqual([undefined, ['1']]);
    world.fail(1);
    world.decide(10);
    expect([world.outcome(), world.running()]).toEqual(['Complete SuccessPolicy', []]);
  });
});

test('a pod that will start later has not failed', () => {
  const world = new JobWorld(makeJob({ backoffLimit: 0 }));
  world.end(0, {});
  world.decide(10);
  expect([world.outcome(), world.record?.failed]).toEqual([undefined, 0]);
});

test('thousands of pods leave the last hundred to be seen', () => {
  const world = new JobWorld(makeJob({ completions: 1000, parallelism: 100 }));
  for (let round = 0; round < 5; round++) {
    world.succeed(...(world.decision?.pods ?? []).filter(({ slot }) => slot >= round * 100).map(({ slot }) => slot));
    world.decide();
  }
  expect(world.record).toMatchObject({ succeeded: [[0, 499]] });
  expect(world.decision?.pods.map(({ slot }) => slot)).toEqual(Array.from({ length: 200 }, (_, index) => 400 + index));
});

describe('a limit per index', () => {
  const perIndex: Partial<JobRules> = {
    completions: 3,
    parallelism: 3,
    isIndexed: true,
    backoffLimit: 2 ** 31 - 1,
    backoffLimitPerIndex: 1,
  };

  test('gives up an index and completes the others', () => {
    const world = new JobWorld(makeJob(perIndex));
    world.fail(0);
    world.decide();
    world.decide(10);
    expect(world.running()).toEqual(['0#1', '1', '2']);
    world.fail(0);
    world.succeed(1, 2);
    world.decide(1);
    expect(world.outcome()).toBe('Failed FailedIndexes');
    expect(world.record).toMatchObject({ failed: 2, failedIndexes: [[0, 0]], succeeded: [[1, 2]] });
  });

  test('lets no index wait for another', () => {
    const world = new JobWorld(makeJob({ ...perIndex, parallelism: 1 }));
    world.fail(0);
    world.decide();
    expect(world.decision?.nextMs).toBe(10_000);
    expect(world.running()).toEqual([]);
  });

  test('fails the Job at too many failed indexes', () => {
    const world = new JobWorld(makeJob({ ...perIndex, backoffLimitPerIndex: 0, maxFailedIndexes: 1 }));
    world.fail(0);
    world.decide();
    expect(world.outcome()).toBeUndefined();
    world.fail(1);
    world.decide();
    expect(world.outcome()).toBe('Failed MaxFailedIndexesExceeded (stopping)');
  });
});

describe('podFailurePolicy', () => {
  const onExitCodes = (action: string, operator: string, ...values: number[]) => ({
    action,
    onExitCodes: { operator, values },
  });
  const disrupted = { action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget', status: 'True' }] };

  test.each([
    ['FailJob at this code', [onExitCodes('FailJob', 'In', 42)], 42, 'Failed PodFailurePolicy', 1],
    ['FailJob at another code', [onExitCodes('FailJob', 'In', 42)], 1, undefined, 1],
    ['NotIn', [onExitCodes('FailJob', 'NotIn', 42)], 1, 'Failed PodFailurePolicy', 1],
    ['Ignore', [onExitCodes('Ignore', 'In', 42)], 42, undefined, 0],
    ['the first rule that matches', [onExitCodes('Ignore', 'In', 1), onExitCodes('FailJob', 'In', 1)], 1, undefined, 0],
    ['Count', [onExitCodes('Count', 'In', 1)], 1, undefined, 1],
    ['a condition that the pod lacks', [disrupted], 1, undefined, 1],
  ])('%s', (_case, podFailurePolicy, code, outcome, failed) => {
    const world = new JobWorld(makeJob({ podFailurePolicy }));
    world.fail(0, code);
    world.decide();
    expect(world.outcome()).toBe(outcome);
    expect(world.record).toMatchObject({ failed });
  });

  test('a disrupted pod is replaced without being counted', () => {
    const world = new JobWorld(makeJob({ podFailurePolicy: [disrupted], backoffLimit: 0 }));
    world.fail(0, 137, { conditions: [{ type: 'DisruptionTarget', status: 'True' }] });
    world.decide();
    world.decide(10);
    expect(world.running()).toEqual(['0#1']);
  });

  test('FailIndex gives up the index at once', () => {
    const podFailurePolicy = [onExitCodes('FailIndex', 'In', 42)];
    const perIndex = { completions: 2, parallelism: 2, isIndexed: true, backoffLimitPerIndex: 5 };
    const world = new JobWorld(makeJob({ ...perIndex, podFailurePolicy }));
    world.fail(1, 42);
    world.decide(60);
    expect(world.running()).toEqual(['0']);
    expect(world.record).toMatchObject({ failedIndexes: [[1, 1]] });
  });

  test('says which pod and rule failed the Job', () => {
    const world = new JobWorld(makeJob({ podFailurePolicy: [onExitCodes('FailJob', 'In', 42)] }));
    world.fail(0, 42);
    expect(world.decide().record.outcome?.message).toBe(
      'Container main for pod default/pi failed with exit code 42 matching FailJob rule at index 0',
    );
  });
});

describe('successPolicy', () => {
  test.each([
    ['these indexes', { indexes: [[0, 0]] as const }, [0], true],
    ['not others', { indexes: [[0, 0]] as const }, [1, 2], false],
    ['a count', { count: 2 }, [1, 2], true],
    ['a count of these indexes', { indexes: [[0, 1]] as const, count: 1 }, [1], true],
    ['too few of these indexes', { indexes: [[0, 1]] as const, count: 2 }, [1, 2], false],
  ])('%s', (_case, rule, succeeded, isMet) => {
    const indexed = { completions: 4, parallelism: 4, isIndexed: true };
    const world = new JobWorld(makeJob({ ...indexed, successPolicy: [rule] }));
    world.succeed(...succeeded);
    world.decide();
    expect(world.outcome()).toBe(isMet ? 'Complete SuccessPolicy (stopping)' : undefined);
    if (isMet) expect(world.running()).toEqual([]);
  });
});

describe('fewer completions', () => {
  const indexed = { isIndexed: true, parallelism: 4 };

  test('stop the pods of indexes that are gone', () => {
    const world = new JobWorld(makeJob({ ...indexed, completions: 4 }));
    world.succeed(0);
    world.decide();
    world.job = makeJob({ ...indexed, completions: 3 });
    world.decide();
    expect(world.running()).toEqual(['1', '2']);
  });

  test('complete a Job that has them', () => {
    const world = new JobWorld(makeJob({ ...indexed, completions: 4 }));
    world.succeed(0, 1);
    world.decide();
    world.job = makeJob({ ...indexed, completions: 2 });
    world.decide();
    world.decide();
    expect([world.outcome(), world.running()]).toEqual(['Complete CompletionsReached', []]);
  });
});
