import { resourceFieldValue } from '../../../src/api/values/field-ref.ts';
import type { Container, ResourceList } from '../../../src/api/types.ts';
import { tableAdapter } from '../table-adapter.ts';

interface In {
  resource: string;
  divisor: string;
  resources: NonNullable<Container['resources']>;
  nodeAllocatable?: ResourceList;
}

export const downwardAPIResources = tableAdapter<In>(
  'downward-api-resources',
  ({ divisor, nodeAllocatable, resource, resources }) => {
    const value = resourceFieldValue(resources, resource, divisor, nodeAllocatable);
    return value === undefined ? { ok: false } : { ok: true, value };
  },
);
