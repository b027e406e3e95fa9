-- Health of a RankingService for Argo CD: put it under the key
-- resource.customizations.health.rankwright.dev_RankingService of the ConfigMap argocd-cm (docs/kubernetes-rollouts.md).
local health = {status = "Progressing", message = "waiting for the operator"}
if obj.status == nil or obj.status.conditions == nil then
  return health
end
-- what was told of an earlier generation does not count
if obj.metadata.generation ~= nil and obj.status.observedGeneration ~= obj.metadata.generation then
  return health
end
local conditions = {}
for _, condition in ipairs(obj.status.conditions) do
  conditions[condition.type] = condition
end
local function holds(kind)
  return conditions[kind] ~= nil and conditions[kind].status == "True"
end
local ready = conditions["Ready"]
if ready == nil then
  return health
end
health.message = ready.reason .. ": " .. (ready.message or "")
if ready.status == "True" then
  health.status = "Healthy"
elseif ready.reason == "ScaledToZero" then
  health.status = "Suspended"
elseif holds("Stalled") then
  health.status = "Degraded"
elseif holds("Reconciling") or ready.status == "Unknown" then
  health.status = "Progressing"
else
  health.status = "Degraded"
end
return health
