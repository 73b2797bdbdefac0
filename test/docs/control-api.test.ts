import { readFileSync } from 'node:fs';
import { Validator } from '@seriousme/openapi-schema-validator';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { ActionLog } from '../../src/server/control/action-log.ts';
import type { ControlContext } from '../../src/server/control/control-route.ts';
import { controlRoutes } from '../../src/server/control/control-routes.ts';
import { silentLogger } from '../fakes/silent-logger.ts';

const document = parse(readFileSync(new URL('../../docs/reference/control-api.yaml', import.meta.url), 'utf8')) as {
  paths: Record<string, Record<string, unknown>>;
};

test('docs/reference/control-api.yaml is valid OpenAPI', async () => {
  expect(await new Validator().validate(structuredClone(document))).toEqual({ valid: true });
});

test('docs/reference/control-api.yaml has exactly the routes of the control socket', () => {
  const described = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
  );
  const served = Object.keys(controlRoutes({} as ControlContext, { actions: new ActionLog(), logger: silentLogger }));
  expect(described.toSorted()).toEqual(served.toSorted());
});
