import { describe, expect, test } from 'vitest';
import type { ContainerTasks } from '../../src/containerd/container-tasks.ts';
import { endingLostTasks } from '../../src/containerd/ending-lost-tasks.ts';
import { ContainerStatus } from '../../src/cri/generated/cri.ts';
import type { RuntimeService } from '../../src/cri/runtime-service.ts';
import { silentLogger } from '../fakes/silent-logger.ts';

/** A runtime with one container, `c1`, as far as it is asked; `calls` has what reached it and the tasks. */
class World {
  readonly calls: string[] = [];
  status: Partial<ContainerStatus> = { state: 'CONTAINER_CREATED' };
  hasTask = true;
  labels: Record<string, string> = { owner: 'us' };
  /** What happens before containerd answers whether it has a task. */
  meanwhile: () => Promise<unknown> = () => Promise.resolve();
  refusal: Error | undefined;

  readonly tasks: ContainerTasks = {
    has: async (id) => {
      this.calls.push(`has ${id}`);
      await this.meanwhile();
      return this.hasTask;
    },
    end: (id) => {
      this.calls.push(`end ${id}`);
      this.hasTask = false;
      return this.refusal === undefined ? Promise.resolve() : Promise.reject(this.refusal);
    },
  };

  readonly runtime: RuntimeService = endingLostTasks(
    {
      createContainer: () => Promise.resolve({ containerId: 'c1' }),
      startContainer: () => (this.refusal === undefined ? Promise.resolve({}) : Promise.reject(this.refusal)),
      containerStatus: () => {
        this.calls.push('status');
        const status = ContainerStatus.fromPartial({ id: 'c1', labels: this.labels, ...this.status });
        return Promise.resolve({ status, info: {} });
      },
    } as Partial<RuntimeService> as RuntimeService,
    { tasks: this.tasks, isOurs: ({ owner }) => Promise.resolve(owner === 'us'), logger: silentLogger },
  );

  /** What reached the runtime and the tasks for one status. */
  async asked(): Promise<string[]> {
    await this.runtime.containerStatus({ containerId: 'c1' });
    return this.calls.splice(0);
  }
}

const exited = { state: 'CONTAINER_EXITED', exitCode: 128, reason: 'StartError' } as const;
const ended = ['status', 'has c1', 'end c1', 'status'];

describe('a task reported as not running and never started', () => {
  test('is ended when it runs, and its status is read again', async () => {
    const world = new World();
    expect(await world.asked()).toEqual(ended);
    expect(await world.asked()).toEqual(['status', 'has c1']);
    world.hasTask = true;
    world.status = exited;
    expect(await world.asked()).toEqual(ended);
  });

  test('is left alone when it is not ours', async () => {
    const world = new World();
    world.labels = {};
    expect(await world.asked()).toEqual(['status']);
  });

  test('has no status while it cannot be ended', async () => {
    const world = new World();
    world.refusal = new Error('it hangs');
    await expect(world.asked()).rejects.toBe(world.refusal);
  });
});

test('what started costs no call', async () => {
  const world = new World();
  for (const state of ['CONTAINER_RUNNING', 'CONTAINER_EXITED', 'CONTAINER_UNKNOWN'] as const) {
    world.status = { state, startedAt: 1n };
    expect(await world.asked()).toEqual(['status']);
  }
});

describe('a container that we made', () => {
  test('is not lost before it is started, nor while that continues', async () => {
    const world = new World();
    await world.runtime.createContainer({});
    expect(await world.asked()).toEqual(['status']);
    await world.runtime.startContainer({ containerId: 'c1' });
    expect(await world.asked()).toEqual(['status']);
  });

  test('is not lost when we hear that it was made while we look for its task', async () => {
    const world = new World();
    world.meanwhile = () => world.runtime.createContainer({});
    expect(await world.asked()).toEqual(['status', 'has c1']);
  });

  test('may be lost once its start was refused', async () => {
    const world = new World();
    await world.runtime.createContainer({});
    world.refusal = new Error('too slow');
    await expect(world.runtime.startContainer({ containerId: 'c1' })).rejects.toBe(world.refusal);
    world.refusal = undefined;
    expect(await world.asked()).toEqual(ended);
  });
});
