const object = (kind: string, name: string, fields: object): object => ({
  apiVersion: 'v1',
  kind,
  metadata: { name },
  ...fields,
});

/** The objects that the pods of the facts refer to. */
export const configObjects: Readonly<Record<string, object>> = {
  'colors.yaml': object('ConfigMap', 'colors', {
    data: { sky: 'blue', grass: 'green' },
    binaryData: { blob: Buffer.from([0, 1, 255]).toString('base64') },
  }),
  'login.yaml': object('Secret', 'login', { stringData: { user: 'admin', password: 'hunter2' } }),
};
