import { expect, test } from 'vitest';
import { metadataFieldValue } from '../../../src/api/values/field-ref.ts';

test("the name is the pod's, but that of a cluster in a StatefulSet", () => {
  const names = [{}, { 'statefulset.kubernetes.io/pod-name': 'db-0' }].map((labels) =>
    metadataFieldValue({ name: 'db-0-edge1', labels }, 'metadata.name'),
  );
  expect(names).toEqual(['db-0-edge1', 'db-0']);
});
