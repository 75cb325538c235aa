#include "common/tinygpu/cuda/launch_observers.h"

#include "common/tinygpu/cuda/or_exit.h"

namespace tinygpu::cuda {

void LaunchObservers::attach(api::Machine& machine, bool child) {
  if (!observation_) {
    observation_ = or_exit([&] {
      api::Options all = options_;
      api::ObservationOptions& wanted = all.observation = api::options_from_environment().observation;
      if (child) wanted.trace = wanted.profile_json = wanted.report = wanted.against = {};
      return std::make_unique<Observation>(all, copied_);
    });
    observation_->name_launches(launches_name_);
  }
  const api::Checks checks = checks_.value_or(observation_->options().checks);
  if (told_ != checks) machine.check_by(checks);
  told_ = checks;
  std::vector<Observer*> all = observation_->observers();
  all.insert(all.end(), session_.begin(), session_.end());
  machine.attach(std::move(all));
}

void LaunchObservers::add(const Diagnosis& d) {
  if (observation_) observation_->add(d);
}

void LaunchObservers::name_launches(std::string name) {
  launches_name_ = std::move(name);
  if (observation_) observation_->name_launches(launches_name_);
}

void LaunchObservers::add_program_timeline(std::string_view text) {
  if (observation_) observation_->add_program_timeline(text);
}

void LaunchObservers::finish() {
  if (observation_) observation_->finish();
}

}  // namespace tinygpu::cuda
