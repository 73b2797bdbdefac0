import { once } from 'node:events';
import { mkdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { basename, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Plugin, PluginHandler } from '../../../src/engine/plugin-manager/plugin-handler.ts';
import type { Clock } from '../../../src/clock.ts';
import { PluginManager } from '../../../src/engine/plugin-manager/plugin-manager.ts';
import type { Logger } from '../../../src/logger.ts';
import { connectRegistration } from '../../../src/plugins/plugin-connections.ts';
import type { Connected, PluginRegistration } from '../../../src/plugins/types.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { FakePlugin } from '../../fakes/fake-plugin.ts';
import { Journal } from '../../fakes/journal.ts';
import { silentFaults } from '../../fakes/silent-faults.ts';
import { silentLogger } from '../../fakes/silent-logger.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

type Use = { did: 'register' | 'deRegister' } & Plugin;

type Connect = (socketPath: string, clock: Clock) => Promise<Connected<PluginRegistration>>;

async function start(handler: Partial<PluginHandler> = {}, connect: Connect = connectRegistration) {
  const folder = join(await temporaryFolder(), 'plugins_registry');
  const clock = new FakeClock();
  const uses = new Journal<Use>();
  const logged = new Journal<string>();
  const log = (_facts: unknown, message: string): void => {
    logged.add(message);
  };
  const manager = new PluginManager({
    folder,
    connect: (path) => connect(path, clock),
    handlers: {
      CSIPlugin: {
        validate: () => undefined,
        register: (plugin) => {
          uses.add({ did: 'register', ...plugin });
          return Promise.resolve();
        },
        deRegister: (plugin) => {
          uses.add({ did: 'deRegister', ...plugin });
        },
        ...handler,
      },
    },
    clock,
    faults: silentFaults(),
    logger: { ...silentLogger, info: log, warn: log } as Logger,
  });
  const stop = new AbortController();
  const ended = manager.run(stop.signal).catch(() => undefined);
  onTestFinished(() => {
    stop.abort();
    return ended;
  });
  return { folder, clock, uses, logged };
}

const refuse = (): Promise<never> => Promise.reject(new Error('not now'));

async function pluginAt(
  path: string,
  info: FakePlugin['info'] = {},
  answers: FakePlugin['answers'] = {},
): Promise<FakePlugin> {
  const plugin = new FakePlugin();
  Object.assign(plugin.answers, answers);
  plugin.info = { type: 'CSIPlugin', name: 'csi.example.com', supportedVersions: ['1.0.0'], ...info };
  await plugin.listen(path);
  onTestFinished(() => plugin.stop());
  return plugin;
}

const notified = async (plugin: FakePlugin): Promise<unknown> =>
  (await plugin.calls.next(({ call }) => call === 'notifyRegistrationStatus')).request;

test('registers a plugin whose socket is there, or comes later in a new folder', async () => {
  const { folder, uses } = await start();
  const first = await pluginAt(join(folder, 'a.sock'), { endpoint: '/run/a.sock' });
  expect(await notified(first)).toEqual({ pluginRegistered: true, error: '' });
  expect(((await stat(folder)).mode & 0o777).toString(8)).toBe('750');
  await mkdir(join(folder, 'deep'));
  const second = await pluginAt(join(folder, 'deep', 'b.sock'), { name: 'b.example.com' });
  expect(await notified(second)).toEqual({ pluginRegistered: true, error: '' });
  expect(uses.items).toEqual([
    { did: 'register', name: 'csi.example.com', endpoint: '/run/a.sock', supportedVersions: ['1.0.0'] },
    { did: 'register', name: 'b.example.com', endpoint: join(folder, 'deep', 'b.sock'), supportedVersions: ['1.0.0'] },
  ]);
});

test('deregisters a plugin whose socket goes, and registers the next one at its path', async () => {
  const { folder, uses } = await start();
  const path = join(folder, 'a.sock');
  const first = await pluginAt(path);
  await notified(first);
  await first.stop(path);
  expect(await uses.next(({ did }) => did === 'deRegister')).toMatchObject({ name: 'csi.example.com' });
  const second = await pluginAt(path, { name: 'other.example.com' });
  await notified(second);
  // Another socket takes its place in one step.
  const third = await pluginAt(join(folder, '..', 'new.sock'), { name: 'third.example.com' });
  await rename(join(folder, '..', 'new.sock'), path);
  await notified(third);
  expect(uses.items.map(({ did, name }) => `${did} ${name}`)).toEqual([
    'register csi.example.com',
    'deRegister csi.example.com',
    'register other.example.com',
    'deRegister other.example.com',
    'register third.example.com',
  ]);
});

test('notifies a plugin of a type or version that nobody handles, and asks again after a growing wait', async () => {
  const { folder, clock, uses } = await start({
    validate: () => {
      throw new Error('version 9 is too new');
    },
  });
  const dra = await pluginAt(join(folder, 'dra.sock'), { type: 'DRAPlugin' });
  const path = join(folder, 'dra.sock');
  expect(await notified(dra)).toEqual({
    pluginRegistered: false,
    error: `RegisterPlugin error -- no handler registered for plugin type: DRAPlugin at socket ${path}`,
  });
  await dra.stop(path);
  const csi = await pluginAt(join(folder, 'csi.sock'));
  const error = 'RegisterPlugin error -- plugin validation failed with err: version 9 is too new';
  const waits: number[] = [];
  for (let attempt = 0; attempt < 4; attempt++) {
    expect(await notified(csi)).toEqual({ pluginRegistered: false, error });
    while (clock.pending === 0) await new Promise(setImmediate);
    waits.push(await clock.advanceToNextTimer());
  }
  expect(waits).toEqual([1000, 2000, 3000, 5000]);
  expect(uses.items).toEqual([]);
});

test('notifies a plugin that its handler does not take', async () => {
  const { folder, uses } = await start({ register: () => Promise.reject(new Error('the driver is silent')) });
  const path = join(folder, 'a.sock');
  const plugin = await pluginAt(path);
  const error = 'RegisterPlugin error -- plugin registration failed with err: the driver is silent';
  expect(await notified(plugin)).toEqual({ pluginRegistered: false, error });
  await plugin.stop(path);
  expect(await uses.next(({ did }) => did === 'deRegister')).toMatchObject({ name: 'csi.example.com' });
});

test.each([
  { result: 'registered', register: () => Promise.resolve(), end: 'Registered a plugin' },
  {
    result: 'not registered',
    register: () => Promise.reject(new Error('the driver is silent')),
    end: 'A plugin was not registered; the agent tries again when its socket is replaced',
  },
])('does not ask a plugin again that is $result, if it does not take the notification', async ({ register, end }) => {
  const { folder, clock, logged } = await start({ register });
  const plugin = await pluginAt(join(folder, 'a.sock'), {}, { notifyRegistrationStatus: refuse });
  await notified(plugin);
  await logged.next(() => true);
  await clock.advance(1000);
  expect(logged.items).toEqual(['Notifying a plugin of its registration failed', end]);
});

test('ignores files, hidden sockets, names that are too long, and plugins that do not answer', async () => {
  const { folder, clock, uses } = await start();
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'file.sock'), '');
  await pluginAt(join(folder, '.hidden.sock'));
  const liar = await pluginAt(join(folder, 'liar.sock'), { name: 'x'.repeat(2000) });
  await liar.calls.next(({ call }) => call === 'getInfo');
  const huge = await pluginAt(join(folder, 'huge.sock'), { supportedVersions: Array<string>(100_000).fill('1.0.0') });
  await huge.calls.next(({ call }) => call === 'getInfo');
  const silent = await pluginAt(join(folder, 'silent.sock'), {}, { getInfo: () => new Promise(() => undefined) });
  await silent.calls.next(({ call }) => call === 'getInfo');
  const good = await pluginAt(join(folder, 'good.sock'), { name: 'good.example.com' });
  await notified(good);
  // All three failures are tried again.
  while (clock.pending < 3) await new Promise(setImmediate);
  expect(uses.items.map(({ name }) => name)).toEqual(['good.example.com']);
  await rm(folder, { recursive: true });
  await uses.next(({ did }) => did === 'deRegister');
});

async function socketAt(path: string): Promise<void> {
  const server = createServer().listen(path);
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
  });
}

test('asks 24 new plugins at a time, and 6 that failed before', async () => {
  const asked = new Journal<string>();
  const failures: (() => void)[] = [];
  const connect: Connect = (path) =>
    new Promise((_resolve, reject) => {
      asked.add(basename(path));
      failures.push(() => {
        reject(new Error('it is silent'));
      });
    });
  const askedInAll = async (total: number): Promise<void> => {
    while (asked.items.length < total) await asked.next(() => true);
  };
  const fail = (): void => {
    for (const one of failures.splice(0)) one();
  };
  const { folder, clock } = await start({}, connect);
  await mkdir(folder, { recursive: true });
  await mkdir(join(folder, '..', 'more'));
  for (let index = 0; index < 100; index += 1) await socketAt(join(folder, '..', 'more', `${index}.sock`));
  await rename(join(folder, '..', 'more'), join(folder, 'more'));
  await askedInAll(24);
  await new Promise(setImmediate);
  expect(asked.items.length).toBe(24);
  for (const total of [48, 72, 96, 100]) {
    fail();
    await askedInAll(total);
  }
  fail();
  while (clock.pending < 100) await new Promise(setImmediate);
  await clock.advance(1000);
  await askedInAll(106);
  await socketAt(join(folder, 'new.sock'));
  await asked.next((name) => name === 'new.sock');
  expect({ count: asked.items.length, last: asked.items.at(-1) }).toEqual({ count: 107, last: 'new.sock' });
});

test('looks every 10 s at a folder with very many files', async () => {
  const { folder, clock, uses } = await start();
  await mkdir(folder, { recursive: true });
  const many = join(folder, '..', 'many');
  await mkdir(many);
  for (let index = 0; index < 2000; index += 1) await writeFile(join(many, `${index}.sock`), '');
  await rename(many, join(folder, 'many'));
  while (clock.pending === 0) await new Promise(setImmediate);
  const plugin = await pluginAt(join(folder, 'many', 'a.sock'));
  const waited = await clock.advanceToNextTimer();
  expect(await notified(plugin)).toEqual({ pluginRegistered: true, error: '' });
  expect({ waited, uses: uses.items.map(({ name }) => name) }).toEqual({ waited: 10_000, uses: ['csi.example.com'] });
});
