import { expect, test } from 'vitest';
import { UserError } from '../../src/errors.ts';
import { computeReload, Reload } from '../../src/node/reload.ts';
import type { NodeOptions } from '../../src/node/options/node-options.ts';
import { optionsOf } from '../golden-runner/start-case.ts';
import { silentLogger } from '../fakes/silent-logger.ts';

const url = '--manifest-url=https://box.example/pods.yaml';

/** A reload of an agent with one header, whose next options are `world.next`. */
async function makeReload() {
  const options = await optionsOf([url, '--manifest-url-header=X-Token: first-token']);
  const world = {
    next: () => Promise.resolve(options),
    log: [] as [message: string | undefined, facts: unknown][],
    notified: [] as string[],
    verbosity: undefined as number | undefined,
  };
  const write = (facts: unknown, message?: string): void => void world.log.push([message, facts]);
  const note = (text: string): Promise<void> => {
    world.notified.push(text);
    return Promise.resolve();
  };
  const reload = new Reload({
    options,
    read: () => world.next(),
    setVerbosity: (level) => {
      world.verbosity = level;
    },
    service: { reloading: () => note('reloading'), reloaded: note },
    logger: { ...silentLogger, warn: write, error: write },
  });
  return { options, world, reload };
}

const withConfiguration = (options: NodeOptions, fields: Partial<NodeOptions['configuration']>): NodeOptions => ({
  ...options,
  configuration: { ...options.configuration, ...fields },
});

test('level and headers are taken, other fields wait for a start, and a new header is a secret', async () => {
  const { options, world, reload } = await makeReload();
  const other = await optionsOf([url, '--manifest-url-header=X-Token: second-token']);
  const { logging } = options.configuration;
  world.next = () =>
    Promise.resolve(
      withConfiguration(other, {
        logging: { ...logging, verbosity: 4 },
        staticPodURLHeader: { 'X-Token': ['second-token'] },
        maxPods: 7,
      }),
    );
  await reload.request();
  expect({ headers: options.manifestURLHeaders, verbosity: world.verbosity, notified: world.notified }).toEqual({
    headers: [['X-Token', 'second-token']],
    verbosity: 4,
    notified: ['reloading', 'Running'],
  });
  expect(options.secrets.hide('second-token first-token')).toBe('<hidden> <hidden>');
  const hint = 'Restart the agent, for example with systemctl restart kubelet-ts. Pods do not restart.';
  const waiting = ['Restart the agent to apply these fields', { fields: ['maxPods'], hint }];
  expect(world.log).toEqual([waiting]);
  await reload.request();
  expect(world.log).toEqual([waiting, waiting]);
});

test('a broken configuration changes nothing and is reported', async () => {
  const { options, world, reload } = await makeReload();
  let isTaken = false;
  reload.addAPI(() =>
    Promise.resolve(() => {
      isTaken = true;
    }),
  );
  world.next = () => Promise.reject(new UserError('the configuration is invalid', { hint: 'Mend it.' }));
  await reload.request();
  expect({ isTaken, headers: options.manifestURLHeaders, notified: world.notified, log: world.log }).toEqual({
    isTaken: false,
    headers: [['X-Token', 'first-token']],
    notified: ['reloading', 'Running with the configuration before the reload: the configuration is invalid'],
    log: [
      ['The agent keeps its configuration and certificates', { err: 'the configuration is invalid', hint: 'Mend it.' }],
    ],
  });
});

test('a broken certificate keeps the configuration too', async () => {
  const { options, world, reload } = await makeReload();
  const other = await optionsOf([url, '--manifest-url-header=X-Token: second-token']);
  world.next = () => Promise.resolve(withConfiguration(other, { staticPodURLHeader: { 'X-Token': ['second-token'] } }));
  reload.addAPI(() => Promise.reject(new UserError('the token file cannot be read')));
  await reload.request();
  expect(options.manifestURLHeaders).toEqual([['X-Token', 'first-token']]);
  expect(world.notified).toEqual([
    'reloading',
    'Running with the configuration before the reload: the token file cannot be read',
  ]);
});

test('requests that wait are one reload', async () => {
  const { options, world, reload } = await makeReload();
  let reads = 0;
  world.next = () => {
    reads++;
    return Promise.resolve(options);
  };
  await Promise.all([reload.request(), reload.request(), reload.request()]);
  await reload.request();
  expect(reads).toBe(2);
});

test('the format of the log waits for a start, its level does not', async () => {
  const { configuration } = await optionsOf([]);
  const { logging } = configuration;
  const format = { ...configuration, logging: { ...logging, format: 'json' } };
  const level = { ...configuration, logging: { ...logging, verbosity: 5 } };
  expect([computeReload(configuration, format), computeReload(configuration, level)]).toEqual([
    { verbosity: undefined, hasOtherHeaders: false, needStart: ['logging'] },
    { verbosity: 5, hasOtherHeaders: false, needStart: [] },
  ]);
});
