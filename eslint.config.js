import js from '@eslint/js';
import { defineConfig, globalIgnores } from 'eslint/config';
import tseslint from 'typescript-eslint';

const packagesForbidden = {
  engine: ['@grpc/*', 'commander', 'ink', 'react'],
  api: ['@grpc/*', 'commander', 'ink', 'react', 'node:*', 'execa', 'chokidar', 'pino'],
  server: ['@grpc/*', 'commander', 'ink', 'react'],
};

/** A stamp of the monotonic clock: assigned to a variable, a field or a property of this name. */
const monotonicStamps = [
  'VariableDeclarator[id.name=X]',
  'AssignmentExpression[left.property.name=X]',
  'Property[key.name=X]',
];

const hashNames = { selector: 'PrivateIdentifier', message: 'a private member is written `private name`, not `#name`' };

const forbid = (folder) => ({
  files: [`src/${folder}/**/*.{ts,tsx}`],
  rules: {
    'no-restricted-imports': [
      'error',
      {
        patterns: [
          {
            group: packagesForbidden[folder],
            message: `src/${folder} does not import this; see docs/internals/architecture.md`,
          },
          ...(folder === 'engine'
            ? [
                {
                  regex: '(cri/(grpc-|generated)|plugins/(?!types))',
                  message: 'the engine knows the CRI and plugins by their interfaces and types only',
                },
              ]
            : []),
        ],
      },
    ],
  },
});

export default defineConfig(
  globalIgnores(['dist', 'coverage', 'src/**/generated', 'test/golden', '.cache']),
  js.configs.recommended,
  {
    files: ['**/*.{ts,tsx}'],
    extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    rules: {
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_' }],
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      '@typescript-eslint/strict-boolean-expressions': 'off',
      'no-console': 'error',
      eqeqeq: 'error',
    },
  },
  {
    files: ['src/**/*.{ts,tsx}'],
    ignores: ['src/main.ts'],
    rules: {
      'no-restricted-syntax': ['error', hashNames],
      'no-restricted-properties': [
        'error',
        { property: 'localeCompare', message: 'compare with <: the tables of locales take 3 MB of memory' },
      ],
    },
  },
  ...Object.keys(packagesForbidden).map(forbid),
  {
    files: ['src/engine/**/*.ts'],
    rules: {
      'no-restricted-globals': ['error', 'setTimeout', 'setInterval', 'setImmediate', 'performance'].map((entry) =>
        entry === 'error' ? entry : { name: entry, message: 'time in the engine goes through the Clock' },
      ),
      'no-restricted-syntax': [
        'error',
        hashNames,
        ...monotonicStamps.map((stamp) => ({
          selector: `${stamp.replace('X', '/At$/')}:has(CallExpression[callee.property.name="monotonic"])`,
          message: 'a stamp of the monotonic clock ends in …AtMonotonic',
        })),
        { selector: 'MemberExpression[object.name="Date"][property.name="now"]', message: 'use clock.now()' },
        { selector: 'NewExpression[callee.name="Date"][arguments.length=0]', message: 'use clock.now()' },
        {
          selector: 'MemberExpression[object.name="Math"][property.name="random"]',
          message: 'take a Random from deps',
        },
      ],
    },
  },
  {
    files: ['**/*.{js,mjs,cjs}'],
    languageOptions: { globals: { process: 'readonly', console: 'readonly', Buffer: 'readonly' } },
    rules: { 'no-console': 'off' },
  },
);
