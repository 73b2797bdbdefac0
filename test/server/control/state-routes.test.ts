import type { ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import type { ControlCall, ControlContext } from '../../../src/server/control/control-route.ts';
import { stateRoutes } from '../../../src/server/control/state-routes.ts';

test('clients that ask for the snapshot at the same time share its bytes, and a later one gets its own', async () => {
  let asked = 0;
  const engine = { snapshot: () => ({ pods: [], asked: (asked += 1) }) };
  const context = {
    view: Promise.resolve(engine),
    engineFor: () => Promise.resolve(engine),
  } as unknown as ControlContext;
  const route = stateRoutes(context)['GET /v1/snapshot'];
  const answers: Buffer[] = [];
  const response = {
    writeHead: () => undefined,
    setTimeout: () => undefined,
    end: (bytes: Buffer) => answers.push(bytes),
  };
  const ask = (): unknown =>
    route?.({ query: new URLSearchParams(), response: response as unknown as ServerResponse } as ControlCall);
  await Promise.all([ask(), ask()]);
  await ask();
  expect(answers.map((bytes) => JSON.parse(bytes.toString()) as unknown)).toEqual(
    [1, 1, 2].map((number) => ({ pid: process.pid, pods: [], asked: number })),
  );
  expect(answers[1]).toBe(answers[0]);
});

test.each([
  ['', 'the parameter namespace is missing'],
  ['name=web-edge1', 'the parameter namespace is missing'],
  ['namespace=&name=web-edge1', 'the parameter namespace is missing'],
  ['namespace=default', 'the parameter name is missing'],
])('a history with the parameters "%s" is refused', async (parameters, message) => {
  const context = { engineFor: () => Promise.resolve({ history: () => [] }) } as unknown as ControlContext;
  const route = stateRoutes(context)['GET /v1/history'];
  const asked = Promise.resolve(route?.({ query: new URLSearchParams(parameters) } as ControlCall));
  await expect(asked).rejects.toMatchObject({ status: 400, message });
});

test('a page of metrics that cannot be made leaves the head of the answer to the error', async () => {
  const sent: unknown[] = [];
  let fails = true;
  const context = {
    engineFor: () => Promise.resolve({}),
    metrics: { text: () => (fails ? Promise.reject(new Error('too many open files')) : Promise.resolve('page')) },
  } as unknown as ControlContext;
  const response = {
    writeHead: (status: number) => sent.push(status),
    setTimeout: () => undefined,
    end: (page: string) => sent.push(page),
  };
  const route = stateRoutes(context)['GET /v1/metrics'];
  const call = { query: new URLSearchParams(), response: response as unknown as ServerResponse } as ControlCall;
  await expect(Promise.resolve(route?.(call))).rejects.toThrow('too many open files');
  expect(sent).toEqual([]);
  fails = false;
  await route?.(call);
  expect(sent).toEqual([200, 'page']);
});
