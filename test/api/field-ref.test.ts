import { expect, test } from 'vitest';
import { formatMap, metadataFieldValue, resourceFieldValue } from '../../src/api/field-ref.ts';
import type { Container, Pod, ResourceList } from '../../src/api/types.ts';
import { loadTable } from '../golden-tables.ts';

interface FieldInput {
  metadata?: Partial<Pod['metadata']>;
  fieldPath?: string;
  map?: Record<string, string>;
}
interface ResourceInput {
  resource: string;
  divisor: string;
  resources: NonNullable<Container['resources']>;
  nodeAllocatable?: ResourceList;
}
interface Output {
  ok: boolean;
  value?: string;
}

const toOutput = (value: string | undefined): Output => (value === undefined ? { ok: false } : { ok: true, value });

test.each(loadTable<FieldInput, Output>('downward-api-values'))(
  'gives the value of $in.fieldPath $in.map',
  ({ in: { fieldPath = '', map, metadata = {} }, out }) => {
    expect(toOutput(map ? formatMap(map) : metadataFieldValue(metadata, fieldPath))).toEqual(out);
  },
);

test.each(loadTable<ResourceInput, Output>('downward-api-resources'))(
  'gives $in.resource in units of "$in.divisor"',
  ({ in: { divisor, nodeAllocatable, resource, resources }, out }) => {
    expect(toOutput(resourceFieldValue(resources, resource, divisor, nodeAllocatable))).toEqual(out);
  },
);
